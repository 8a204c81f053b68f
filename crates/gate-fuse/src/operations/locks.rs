//! Advisory locks.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::translate::{lock_change, lock_in_the_way};
use futago_base::{Errno, FileId};
use futago_client::Cancel;
use futago_files::{LockHolder, OpenFile};
use futago_fuse_kernel::LockRequest;
use futago_wire::LockChange;
use std::future::{Future, poll_fn};
use std::pin::pin;

pub async fn test(call: &Call, request: &LockRequest) -> Outcome {
    let change = lock_change(request, holder(call.file, request, false));
    let lock = pin!(call.client.test_lock(call.file, change));
    let lock = call.on_open_file(request.handle, lock).await?;
    Ok(Answer::Lock(lock_in_the_way(lock, request.lock)))
}

pub async fn set(call: &Call, request: &LockRequest, wait: bool, flock: bool) -> Outcome {
    let open = call.shared.handles.get(request.handle)?;
    let change = lock_change(request, holder(call.file, request, flock));
    if wait {
        wait_for(call, &open, change).await?;
    } else {
        let (client, files) = (&*call.client, call.client.files());
        files.set_lock(client, &open, change, None).await?;
    }
    Ok(Answer::Locked(open, change))
}

/// The holder of the locks that a request changes. A lock of `flock` belongs to an open file: the
/// kernel may give the next opened file the owner of a file whose last close it has not reported
/// yet, and that close must not end the new file's lock.
pub const fn holder(file: FileId, request: &LockRequest, flock: bool) -> LockHolder {
    match flock {
        true => LockHolder::of_whole(file, request.handle),
        false => LockHolder::of_ranges(file, request.owner),
    }
}

/// Waits for a lock until it is granted or a signal comes.
async fn wait_for(call: &Call, open: &OpenFile, change: LockChange) -> Result<(), Errno> {
    let cancel = Cancel::new();
    let (client, files) = (&*call.client, call.client.files());
    let mut waiting = pin!(files.set_lock(client, open, change, Some(&cancel)));
    poll_fn(|task| {
        if call.interruption.poll_raised(task).is_ready() && !cancel.is_cancelled() {
            cancel.cancel();
        }
        waiting.as_mut().poll(task)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_fuse_kernel::Lock;

    #[test]
    fn a_lock_of_flock_belongs_to_the_open_file_whomever_the_kernel_names() {
        let request = |handle| LockRequest {
            handle,
            owner: 7,
            lock: Lock {
                start: 0,
                end: u64::MAX,
                kind: libc::F_WRLCK as u32,
                pid: 1,
            },
        };
        let of = |handle, flock| holder(FileId(3), &request(handle), flock);
        assert_ne!(of(1, true), of(2, true));
        // A process has its other locks whichever of its descriptors it has asked through.
        assert_eq!(of(1, false), of(2, false));
    }
}
