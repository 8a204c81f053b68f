//! The buffers of an endpoint: one mapping, which is registered with the provider as a whole.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::{
    ffi::c_void,
    io,
    ptr::{self, NonNull},
    slice,
};

/// The bytes of a buffer. Providers over sockets send a message of up to 16 KiB with their own
/// head at once, and negotiate about a larger one.
pub const BUFFER_BYTES: usize = 16 << 10;
/// The memory that a provider may use while it works on a buffer (`struct fi_context2`), in bytes.
const CONTEXT_BYTES: usize = 64;

/// Buffers, each with the memory that the provider needs to work on it.
///
/// ```text
/// contexts | buffers
/// ```
#[derive(Debug)]
pub struct Buffers {
    start: NonNull<u8>,
    count: usize,
}

// SAFETY: the mapping belongs to no thread. Access is through `&mut self`, or as the provider does.
unsafe impl Send for Buffers {}

// SAFETY: a shared reference gives no access to the bytes.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// Maps memory for so many buffers. A page takes memory once it is used.
    ///
    /// # Errors
    /// The system is out of memory or mappings.
    pub fn new(count: usize) -> io::Result<Self> {
        let bytes = Self::total_bytes(count);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address that the kernel chooses affects no existing memory.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, flags) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let buffers = Self { start, count };
        // SAFETY: it is the whole of this mapping. A child of this process does not use it, and an
        // adapter goes on to write to the parent's pages.
        unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxDontFork) }?;
        Ok(buffers)
    }

    const fn total_bytes(count: usize) -> usize {
        count * (CONTEXT_BYTES + BUFFER_BYTES)
    }

    /// All bytes, to be registered.
    pub const fn whole(&self) -> (*const c_void, usize) {
        (
            self.start.as_ptr().cast_const().cast(),
            Self::total_bytes(self.count),
        )
    }

    /// The context of a buffer.
    pub fn context(&self, index: usize) -> *mut c_void {
        assert!(index < self.count, "the buffer exists");
        // SAFETY: contexts of all buffers are at the start of the mapping.
        unsafe { self.start.as_ptr().add(index * CONTEXT_BYTES).cast() }
    }

    /// The buffer of a context; `None` if it is no context of these buffers.
    pub fn index_of(&self, context: *mut c_void) -> Option<usize> {
        let offset = (context as usize).checked_sub(self.start.as_ptr() as usize)?;
        let index = offset / CONTEXT_BYTES;
        (offset.is_multiple_of(CONTEXT_BYTES) && index < self.count).then_some(index)
    }

    /// The bytes of a buffer, for the provider.
    pub fn buffer(&self, index: usize) -> *mut u8 {
        assert!(index < self.count, "the buffer exists");
        let offset = self.count * CONTEXT_BYTES + index * BUFFER_BYTES;
        // SAFETY: the buffers follow the contexts within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The bytes of a buffer.
    ///
    /// # Safety
    /// The provider does not work on the buffer while the result exists.
    pub unsafe fn bytes(&self, index: usize) -> &[u8] {
        // SAFETY: the mapping has all bytes of the buffer, zero at first, and nobody changes them.
        unsafe { slice::from_raw_parts(self.buffer(index), BUFFER_BYTES) }
    }

    /// The bytes of a buffer, to change them.
    ///
    /// # Safety
    /// As [`Buffers::bytes`].
    pub unsafe fn bytes_mut(&mut self, index: usize) -> &mut [u8] {
        // SAFETY: as above; only this reference gives access.
        unsafe { slice::from_raw_parts_mut(self.buffer(index), BUFFER_BYTES) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let bytes = Self::total_bytes(self.count);
        // SAFETY: this value owns the mapping. The endpoint, which the provider works for, is
        // closed before.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping that exists can be unmapped");
    }
}
