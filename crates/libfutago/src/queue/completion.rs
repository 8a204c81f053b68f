//! The end of an operation.

use super::Queue;
use futago_posix::outcome::{errno, error};
use std::{
    ffi::{c_int, c_void},
    io,
    ptr::with_exposed_provenance_mut,
    sync::Arc,
};

/// `struct futago_completion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The pointer that the program has submitted with the operation.
    pub data: *mut c_void,
    /// The result of the function, or -1.
    pub result: libc::ssize_t,
    /// `errno` if the result is -1, otherwise 0.
    pub error: c_int,
}

// SAFETY: the library passes the pointer on and never uses it.
unsafe impl Send for Completion {}

/// An operation under way. Dropping it completes it with `EIO`, so that no program waits for an
/// operation that a stopped client has dropped.
pub struct Submitted {
    queue: Arc<Queue>,
    /// The address that the program has submitted.
    data: usize,
    is_ended: bool,
}

impl Submitted {
    pub(super) const fn new(queue: Arc<Queue>, data: usize) -> Self {
        Self {
            queue,
            data,
            is_ended: false,
        }
    }

    /// Completes the operation.
    pub fn end(mut self, result: io::Result<usize>) {
        self.complete(result);
    }

    fn complete(&mut self, result: io::Result<usize>) {
        let (result, error) = match result {
            Ok(result) => (result as libc::ssize_t, 0),
            Err(failed) => (-1, errno(&failed)),
        };
        self.is_ended = true;
        self.queue.complete(Completion {
            data: with_exposed_provenance_mut(self.data),
            result,
            error,
        });
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        if !self.is_ended {
            self.complete(Err(error(libc::EIO)));
        }
    }
}
