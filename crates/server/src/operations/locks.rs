//! `fcntl` range locks and `flock` locks, shared by all clients.

use crate::builder::DecisionBuilder;
use crate::completion::{Refusal, Result};
use futago_base::{
    Errno, FileId, Key, View,
    record::{LockKind, LockOwner, LockWaiter, RangeLock},
};
use futago_wire::{LockChange, Reply, Request};

/// The most requests that wait on one file.
const WAITERS_MAX: usize = 4096;

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, request: &Request) -> Result {
    match request {
        Request::TestLock { id, lock } => {
            builder.lasting_file(*id)?;
            let asked = lock_of(builder, lock, lock.kind.unwrap_or(LockKind::Shared));
            Ok(Reply::Lock(builder.conflicting_lock(*id, &asked)).into())
        }
        Request::SetLock { id, lock, wait } => set(builder, *id, lock, *wait),
        Request::CancelLock { id, sequence } => {
            builder.cancel_lock(*id, *sequence);
            Ok(Reply::Done.into())
        }
        _ => Err(Errno::ENOSYS.into()),
    }
}

fn lock_of<V: View>(
    builder: &DecisionBuilder<'_, V>,
    change: &LockChange,
    kind: LockKind,
) -> RangeLock {
    RangeLock {
        space: change.space,
        kind,
        owner: LockOwner {
            session: builder.request.session,
            owner: change.owner,
        },
        range: change.range,
        pid: change.pid,
    }
}

fn set<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    change: &LockChange,
    wait: bool,
) -> Result {
    builder.lasting_file(id)?;
    if change.range.start > change.range.end {
        return Err(Errno::EINVAL.into());
    }
    let Some(kind) = change.kind else {
        let like = lock_of(builder, change, LockKind::Shared);
        builder.release_lock(id, &like)?;
        builder.grant_waiting(id);
        return Ok(Reply::Done.into());
    };
    let lock = lock_of(builder, change, kind);
    if builder.conflicting_lock(id, &lock).is_some() {
        return if wait {
            wait_for(builder, id, lock)
        } else {
            Err(Errno::EAGAIN.into())
        };
    }
    builder.take_lock(id, lock)?;
    // A lock that became weaker may unblock other requests.
    builder.grant_waiting(id);
    Ok(Reply::Done.into())
}

fn wait_for<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId, lock: RangeLock) -> Result {
    let mut waiters = builder.lock_waiters(id);
    if waiters.len() >= WAITERS_MAX {
        return Err(Errno::ENOLCK.into());
    }
    waiters.push(LockWaiter {
        lock,
        request: builder.request,
    });
    builder.put_lock_waiters(id, waiters);
    builder
        .state
        .put(Key::SessionFile(lock.owner.session, id), ());
    Err(Refusal::Waits)
}
