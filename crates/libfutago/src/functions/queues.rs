//! Operations that do not block.

use crate::{
    queue::{Completion, Queue},
    session,
};
use bytes::Bytes;
use futago_posix::{
    memory::{offset, readable, writable},
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_int, c_void},
    io,
    sync::Arc,
    time::Duration,
};

/// Makes a queue.
#[unsafe(no_mangle)]
pub extern "C" fn futago_queue_create() -> *mut Queue {
    outcome::of(|| Ok(Arc::into_raw(Arc::new(Queue::new()?)).cast_mut()))
}

/// Waits for what is under way, and frees the queue. In a child of the process that has made it, it
/// does nothing.
///
/// # Safety
/// `queue` is null or what [`futago_queue_create`] has returned, not destroyed, and used by no
/// other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_queue_destroy(queue: *mut Queue) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let Ok(used) = (unsafe { shared(queue) }) else {
            return if queue.is_null() {
                Err(error(libc::EINVAL))
            } else {
                Ok(0)
            };
        };
        used.drain();
        // SAFETY: it was made by `futago_queue_create`, and the program does not use it any more.
        drop(unsafe { Arc::from_raw(queue) });
        Ok(0)
    })
}

/// Begins to read at an offset.
///
/// # Safety
/// As [`futago_queue_wait`]; `buf` is the address of `size` bytes of memory that nobody else uses
/// before the operation is completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_submit_pread(
    queue: *mut Queue,
    fd: c_int,
    buf: *mut c_void,
    size: usize,
    at: libc::off_t,
    data: *mut c_void,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (queue, into) = unsafe { (shared(queue)?, writable(buf, size)?) };
        let length = u32::try_from(size).map_err(|_| error(libc::EINVAL))?;
        let (file, offset) = (process::file(fd)?.asynchronous(), offset(at)?);
        let reading = file.read_at(offset, length);
        submit(&queue, data, async move {
            let read = reading.await?;
            into[..read.len()].copy_from_slice(&read);
            Ok(read.len())
        })
    })
}

/// Begins to write a copy of the data at an offset.
///
/// # Safety
/// As [`futago_queue_wait`]; `buf` is the address of `size` bytes of memory that nobody changes
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_submit_pwrite(
    queue: *mut Queue,
    fd: c_int,
    buf: *const c_void,
    size: usize,
    at: libc::off_t,
    data: *mut c_void,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (queue, from) = unsafe { (shared(queue)?, readable(buf, size)?) };
        let (file, offset) = (process::file(fd)?.asynchronous(), offset(at)?);
        let writing = file.write_at(offset, Bytes::copy_from_slice(from));
        submit(&queue, data, async move { writing.await.map(|_| size) })
    })
}

/// Begins to store what was written by operations that are completed.
///
/// # Safety
/// As [`futago_queue_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_submit_fsync(
    queue: *mut Queue,
    fd: c_int,
    data: *mut c_void,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let queue = unsafe { shared(queue) }?;
        let synchronizing = process::file(fd)?.asynchronous().synchronize();
        submit(&queue, data, async move { synchronizing.await.map(|()| 0) })
    })
}

/// Waits for completions and returns their number.
///
/// # Safety
/// `queue` is null or what [`futago_queue_create`] has returned and is not destroyed;
/// `completions` is the address of `count` of them, which nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_queue_wait(
    queue: *mut Queue,
    completions: *mut Completion,
    count: c_int,
    timeout_ms: c_int,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let queue = unsafe { shared(queue) }?;
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| error(libc::EINVAL))?;
        if completions.is_null() {
            return Err(error(libc::EFAULT));
        }
        let time = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let taken = queue.wait(count, time);
        for (index, completion) in taken.iter().enumerate() {
            // SAFETY: the caller promises room for `count`, and no more are taken.
            unsafe { completions.add(index).write(*completion) };
        }
        Ok(taken.len() as c_int)
    })
}

/// The descriptor of the kernel that is readable while completions wait.
///
/// # Safety
/// As [`futago_queue_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_queue_fd(queue: *mut Queue) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| Ok(unsafe { shared(queue) }?.descriptor()))
}

/// The queue, which lives on while operations use it.
///
/// # Safety
/// As [`futago_queue_wait`].
unsafe fn shared(queue: *mut Queue) -> io::Result<Arc<Queue>> {
    if queue.is_null() {
        return Err(error(libc::EINVAL));
    }
    // SAFETY: it was made by `Arc::into_raw`, and the caller promises that it is not destroyed.
    let shared = unsafe {
        Arc::increment_strong_count(queue);
        Arc::from_raw(queue)
    };
    shared.check_process()?;
    Ok(shared)
}

/// Completes an operation that has begun.
fn submit(
    queue: &Arc<Queue>,
    data: *mut c_void,
    operation: impl Future<Output = io::Result<usize>> + Send + 'static,
) -> io::Result<c_int> {
    let files = session::files()?;
    let submitted = queue.begin(data.expose_provenance());
    // A client that has stopped drops the operation, which completes it.
    files.futago().spawn_beside(|_| async move {
        submitted.end(operation.await);
    });
    Ok(0)
}
