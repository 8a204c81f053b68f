//! Advisory locks.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::lock_notes::Holder;
use crate::translate::{lock_change, lock_in_the_way};
use futago_base::{Duration, Errno, FileId};
use futago_client::{Cancel, Context};
use futago_fuse_kernel::LockRequest;
use futago_wire::LockChange;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// How often a request looks whether what is being taken back from its holder is.
const SETTLED_POLL: Duration = Duration::from_millis(1);

pub async fn test(call: &Call, request: &LockRequest) -> Outcome {
    let change = lock_change(request, holder(call.file, request, false));
    let lock = pin!(call.client.test_lock(call.file, change));
    let lock = call.on_open_file(request.handle, lock).await?;
    Ok(Answer::Lock(lock_in_the_way(lock, request.lock)))
}

pub async fn set(call: &Call, request: &LockRequest, wait: bool, flock: bool) -> Outcome {
    let holder = holder(call.file, request, flock);
    let change = lock_change(request, holder);
    let notes = &call.shared.locks;
    let may_go_ahead = || match change.kind {
        Some(_) => notes.note(holder, request.handle),
        None => notes.is_settled(holder),
    };
    let deadline = call.client.context().now() + call.client.config().retry;
    while !may_go_ahead() {
        // The server of a lock that is to be taken back may be gone for good.
        if call.client.context().now() >= deadline {
            return Err(Errno::EIO);
        }
        call.client.context().sleep(SETTLED_POLL).await;
    }
    if change.kind.is_none() && !notes.has(holder) {
        return Ok(Answer::Done);
    }
    let set = pin!(async {
        if wait && change.kind.is_some() {
            wait_for(call, change).await
        } else {
            call.client.set_lock(call.file, change, None).await
        }
    });
    call.on_open_file(request.handle, set).await?;
    Ok(Answer::Locked(change))
}

/// The holder of the locks that a request changes. A lock of `flock` belongs to an open file: the
/// kernel may give the next opened file the owner of a file whose last close it has not reported
/// yet, and that close must not end the new file's lock.
pub const fn holder(file: FileId, request: &LockRequest, flock: bool) -> Holder {
    match flock {
        true => Holder::of_whole(file, request.handle),
        false => Holder::of_ranges(file, request.owner),
    }
}

/// Waits for a lock until it is granted or a signal comes.
async fn wait_for(call: &Call, change: LockChange) -> Result<(), Errno> {
    let cancel = Cancel::new();
    let mut waiting = pin!(call.client.set_lock(call.file, change, Some(&cancel)));
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
