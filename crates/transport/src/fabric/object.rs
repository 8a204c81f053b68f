//! An object of the library, closed when it is dropped.

use super::{
    library::Library,
    table::{Fid, FidOperations},
};
use std::{
    ffi::{c_int, c_void},
    io,
    ptr::{self, NonNull},
};

/// An object, whose structure begins with a [`Fid`].
pub struct Object<T>(NonNull<T>);

// SAFETY: the objects of an endpoint belong to no thread. The library is asked for
// `FI_THREAD_DOMAIN`: calls for a domain must not overlap, and the endpoint has its own.
unsafe impl<T> Send for Object<T> {}

// SAFETY: the endpoint calls the library through `&self` only for what changes no state, and where
// it holds the endpoint exclusively.
unsafe impl<T> Sync for Object<T> {}

impl<T> Object<T> {
    /// Has the library make an object.
    ///
    /// # Errors
    /// The library's error.
    ///
    /// # Safety
    /// `open` returns 0 only if it has written a new object, whose structure begins with a [`Fid`].
    pub unsafe fn open(
        library: &Library,
        during: &'static str,
        open: impl FnOnce(*mut *mut T) -> c_int,
    ) -> io::Result<Self> {
        let mut object = ptr::null_mut();
        super::endpoint::check(library, during, open(&raw mut object))?;
        let missing = || io::Error::other(format!("{during}: there is no object"));
        NonNull::new(object).map(Self).ok_or_else(missing)
    }

    pub const fn pointer(&self) -> *mut T {
        self.0.as_ptr()
    }

    const fn fid(&self) -> *mut Fid {
        self.pointer().cast()
    }

    const fn operations(&self) -> *const FidOperations {
        // SAFETY: the object is open and begins with a `Fid`.
        unsafe { (*self.fid()).operations }
    }

    /// Has this object use another one, which must be closed later.
    ///
    /// # Errors
    /// The library's error.
    pub fn bind<U>(&self, library: &Library, other: &Object<U>, flags: u64) -> io::Result<()> {
        // SAFETY: both objects are open.
        let status = unsafe { ((*self.operations()).bind)(self.fid(), other.fid(), flags) };
        super::endpoint::check(library, "binding objects of the fabric", status)
    }

    /// Gives a command.
    ///
    /// # Errors
    /// The library's error.
    ///
    /// # Safety
    /// The argument is one of the command.
    pub unsafe fn control(
        &self,
        library: &Library,
        during: &'static str,
        command: c_int,
        argument: *mut c_void,
    ) -> io::Result<()> {
        // SAFETY: the object is open; the caller vouches for the argument.
        let status = unsafe { ((*self.operations()).control)(self.fid(), command, argument) };
        super::endpoint::check(library, during, status)
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: the object is open, and nothing uses it afterwards. An error leaves it open.
        unsafe { ((*self.operations()).close)(self.fid()) };
    }
}
