//! Advisory locks.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::lock_notes::Holder;
use crate::translate::{lock_change, lock_in_the_way};
use futago_base::{Duration, Errno, FileId, record::LockSpace};
use futago_client::{Cancel, Context};
use futago_fuse_kernel::{LockRequest, Operation};
use futago_wire::LockChange;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// How often a request looks whether an earlier one of its holder, whose caller was let go, is
/// settled.
const SETTLED_POLL: Duration = Duration::from_millis(20);

/// Whether an operation concerns locks. One client has those of the whole mount, as they belong to its
/// session.
pub const fn concerns_locks(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::GetLock(_) | Operation::SetLock { .. } | Operation::Flush { .. }
    )
}

pub async fn test(call: &Call, request: &LockRequest) -> Outcome {
    let change = lock_change(request, LockSpace::Range);
    let lock = call.client.test_lock(call.file, change).await?;
    Ok(Answer::Lock(lock_in_the_way(lock, request.lock)))
}

pub async fn set(call: &Call, request: &LockRequest, wait: bool, flock: bool) -> Outcome {
    let holder = holder(call.file, request, flock);
    let change = lock_change(request, holder.space);
    let notes = &call.shared.locks;
    while !notes.is_settled(holder) {
        call.client.context().sleep(SETTLED_POLL).await;
    }
    if change.kind.is_some() {
        notes.note(call.file, holder.space, change.owner, request.handle);
    } else if !notes.has(call.file, holder.space, change.owner) {
        return Ok(Answer::Done);
    }
    if wait && change.kind.is_some() {
        wait_for(call, change).await?;
    } else {
        call.client.set_lock(call.file, change, None).await?;
    }
    Ok(Answer::Locked(change))
}

/// Whose locks a request changes.
pub fn holder(file: FileId, request: &LockRequest, flock: bool) -> Holder {
    let space = if flock {
        LockSpace::Whole
    } else {
        LockSpace::Range
    };
    Holder {
        file,
        space,
        owner: request.owner,
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
