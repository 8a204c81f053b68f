//! Advisory locks.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::translate::{lock_change, lock_in_the_way};
use futago_base::{Errno, record::LockSpace};
use futago_client::{Cancel, Context};
use futago_fuse_kernel::LockRequest;
use futago_wire::LockChange;
use std::future::{Future, poll_fn};
use std::pin::pin;

pub async fn test<C: Context>(call: &Call<C>, request: &LockRequest) -> Outcome {
    let change = lock_change(request, LockSpace::Range);
    let lock = call.client.test_lock(call.file, change).await?;
    Ok(Answer::Lock(lock_in_the_way(lock, request.lock)))
}

pub async fn set<C: Context>(
    call: &Call<C>,
    request: &LockRequest,
    wait: bool,
    flock: bool,
) -> Outcome {
    let space = if flock {
        LockSpace::Whole
    } else {
        LockSpace::Range
    };
    let change = lock_change(request, space);
    let notes = &call.shared.locks;
    if change.kind.is_some() {
        notes.note(call.file, space, change.owner, request.handle);
    } else if !notes.has(call.file, space, change.owner) {
        return Ok(Answer::Done);
    }
    if wait && change.kind.is_some() {
        wait_for(call, change).await?;
    } else {
        call.client.set_lock(call.file, change, None).await?;
    }
    Ok(Answer::Done)
}

/// Waits for a lock until it is granted or a signal comes.
async fn wait_for<C: Context>(call: &Call<C>, change: LockChange) -> Result<(), Errno> {
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
