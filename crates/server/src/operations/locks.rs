//! `fcntl` range locks and `flock` locks, shared by all clients.

use crate::answer::{Refusal, Result};
use crate::turn::Turn;
use futago_base::{
    Errno, FileId, Key, View,
    record::{LockKind, LockOwner, LockWaiter, RangeLock},
};
use futago_wire::{LockChange, Reply, Request};

/// The most requests that wait on one file.
const WAITERS_MAX: usize = 4096;

pub fn run<V: View>(turn: &mut Turn<'_, V>, request: &Request) -> Result {
    match request {
        Request::TestLock { id, lock } => {
            turn.lasting_file(*id)?;
            let asked = lock_of(turn, lock, lock.kind.unwrap_or(LockKind::Shared));
            Ok(Reply::Lock(turn.lock_in_the_way(*id, &asked)).into())
        }
        Request::SetLock { id, lock, wait } => set(turn, *id, lock, *wait),
        Request::CancelLock { id, sequence } => {
            turn.cancel_lock(*id, *sequence);
            Ok(Reply::Done.into())
        }
        _ => Err(Errno::ENOSYS.into()),
    }
}

fn lock_of<V: View>(turn: &Turn<'_, V>, change: &LockChange, kind: LockKind) -> RangeLock {
    RangeLock {
        space: change.space,
        kind,
        owner: LockOwner {
            session: turn.request.session,
            owner: change.owner,
        },
        range: change.range,
        pid: change.pid,
    }
}

fn set<V: View>(turn: &mut Turn<'_, V>, id: FileId, change: &LockChange, wait: bool) -> Result {
    turn.lasting_file(id)?;
    if change.range.start > change.range.end {
        return Err(Errno::EINVAL.into());
    }
    let Some(kind) = change.kind else {
        let like = lock_of(turn, change, LockKind::Shared);
        turn.release_lock(id, &like);
        turn.grant_waiting(id);
        return Ok(Reply::Done.into());
    };
    let lock = lock_of(turn, change, kind);
    if turn.lock_in_the_way(id, &lock).is_some() {
        return if wait {
            wait_for(turn, id, lock)
        } else {
            Err(Errno::EAGAIN.into())
        };
    }
    turn.take_lock(id, lock);
    // A lock that became weaker may let others in.
    turn.grant_waiting(id);
    Ok(Reply::Done.into())
}

fn wait_for<V: View>(turn: &mut Turn<'_, V>, id: FileId, lock: RangeLock) -> Result {
    let mut waiters = turn.lock_waiters(id);
    if waiters.len() >= WAITERS_MAX {
        return Err(Errno::ENOLCK.into());
    }
    waiters.push(LockWaiter {
        lock,
        request: turn.request,
    });
    turn.put_lock_waiters(id, waiters);
    turn.state.put(Key::SessionFile(lock.owner.session, id), ());
    Err(Refusal::Waits)
}
