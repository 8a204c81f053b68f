//! Advisory locks: conflicts, and the queue of waiting requests.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::vec::Vec;
use futago_base::{
    Errno, FileId, Key, RequestId, SessionId, Value, View,
    record::{LockKind, LockRange, LockWaiter, RangeLock},
};
use futago_wire::{Failure, Reply, Request};

fn conflict(held: &RangeLock, asked: &RangeLock) -> bool {
    held.space == asked.space
        && held.owner != asked.owner
        && held.range.overlaps(asked.range)
        && (held.kind == LockKind::Exclusive || asked.kind == LockKind::Exclusive)
}

/// Removes `range` from the locks of the owner of `like`, splitting those that reach beyond it.
fn release(locks: &mut Vec<RangeLock>, like: &RangeLock, range: LockRange) {
    let mut rest = Vec::new();
    locks.retain(|held| {
        let same = held.space == like.space && held.owner == like.owner;
        if !same || !held.range.overlaps(range) {
            return true;
        }
        if held.range.start < range.start {
            let before = LockRange {
                start: held.range.start,
                end: range.start - 1,
            };
            rest.push(RangeLock {
                range: before,
                ..*held
            });
        }
        if held.range.end > range.end {
            let after = LockRange {
                start: range.end + 1,
                end: held.range.end,
            };
            rest.push(RangeLock {
                range: after,
                ..*held
            });
        }
        false
    });
    locks.append(&mut rest);
}

/// Joins the locks of the same owner and kind that touch `lock`.
fn join(locks: &mut Vec<RangeLock>, mut lock: RangeLock) -> RangeLock {
    locks.retain(|held| {
        let same = held.space == lock.space && held.owner == lock.owner && held.kind == lock.kind;
        let touches = held.range.start <= lock.range.end.saturating_add(1)
            && lock.range.start <= held.range.end.saturating_add(1);
        if same && touches {
            lock.range.start = lock.range.start.min(held.range.start);
            lock.range.end = lock.range.end.max(held.range.end);
        }
        !(same && touches)
    });
    lock
}

impl<V: View> DecisionBuilder<'_, V> {
    fn locks(&self, file: FileId) -> &[RangeLock] {
        let locks = self.state.get(&Key::Locks(file)).and_then(Value::locks);
        locks.map(Vec::as_slice).unwrap_or_default()
    }

    /// Sets the locks of a file. Errors: `ENOLCK` if they become more than a file may have.
    fn change_locks(&mut self, file: FileId, locks: Vec<RangeLock>) -> Checked<()> {
        let is_excess = locks.len() > self.server.config().file_locks_max;
        if is_excess && locks.len() > self.locks(file).len() {
            return Err(Errno::ENOLCK.into());
        }
        self.put_locks(file, locks);
        Ok(())
    }

    fn put_locks(&mut self, file: FileId, locks: Vec<RangeLock>) {
        if locks.is_empty() {
            self.state.delete(Key::Locks(file));
        } else {
            self.state.put(Key::Locks(file), locks);
        }
    }

    pub fn lock_waiters(&self, file: FileId) -> Vec<LockWaiter> {
        let waiters = self
            .state
            .get(&Key::LockWaiters(file))
            .and_then(Value::lock_waiters);
        waiters.cloned().unwrap_or_default()
    }

    pub fn put_lock_waiters(&mut self, file: FileId, waiters: Vec<LockWaiter>) {
        if waiters.is_empty() {
            self.state.delete(Key::LockWaiters(file));
        } else {
            self.state.put(Key::LockWaiters(file), waiters);
        }
    }

    /// Whether an earlier copy of the request waits for a lock.
    pub fn is_waiting_for_lock(&self, id: RequestId, request: &Request) -> bool {
        match request {
            Request::SetLock {
                id: file,
                wait: true,
                ..
            } => {
                let waiters = self.lock_waiters(*file);
                waiters.iter().any(|waiter| waiter.request == id)
            }
            _ => false,
        }
    }

    /// Whether a session holds or waits for a lock on a file.
    pub fn has_locks(&self, session: SessionId, file: FileId) -> bool {
        self.locks(file)
            .iter()
            .any(|lock| lock.owner.session == session)
            || self
                .lock_waiters(file)
                .iter()
                .any(|waiter| waiter.lock.owner.session == session)
    }

    /// The first lock in the file that conflicts with another.
    pub fn conflicting_lock(&self, file: FileId, asked: &RangeLock) -> Option<RangeLock> {
        let locks = self.locks(file).iter();
        let in_the_way = locks.filter(|held| conflict(held, asked));
        in_the_way.min_by_key(|held| held.range.start).copied()
    }

    /// Takes a lock without conflicts. It replaces the earlier locks of its owner in the range.
    /// Errors: `ENOLCK`.
    pub fn take_lock(&mut self, file: FileId, lock: RangeLock) -> Checked<()> {
        let mut locks = self.locks(file).to_vec();
        release(&mut locks, &lock, lock.range);
        let lock = join(&mut locks, lock);
        locks.push(lock);
        self.change_locks(file, locks)?;
        self.state
            .put(Key::SessionFile(lock.owner.session, file), ());
        Ok(())
    }

    /// Releases the locks of the owner of `like` in its range. Errors: `ENOLCK` if that splits a
    /// lock.
    pub fn release_lock(&mut self, file: FileId, like: &RangeLock) -> Checked<()> {
        let mut locks = self.locks(file).to_vec();
        release(&mut locks, like, like.range);
        self.change_locks(file, locks)?;
        self.forget_file_of_session(like.owner.session, file);
        Ok(())
    }

    /// Releases the locks of a session and cancels its waiting requests.
    pub fn drop_session_locks(&mut self, file: FileId, session: SessionId) {
        let mut locks = self.locks(file).to_vec();
        locks.retain(|lock| lock.owner.session != session);
        self.put_locks(file, locks);
        let mut waiters = self.lock_waiters(file);
        waiters.retain(|waiter| waiter.request.session != session);
        self.put_lock_waiters(file, waiters);
        self.grant_waiting(file);
    }

    /// Grants waiting locks without conflicts, in the order of their requests.
    pub fn grant_waiting(&mut self, file: FileId) {
        let (mut still_waiting, mut refused) = (Vec::new(), Vec::new());
        for waiter in self.lock_waiters(file) {
            if self.conflicting_lock(file, &waiter.lock).is_some() {
                still_waiting.push(waiter);
                continue;
            }
            match self.take_lock(file, waiter.lock) {
                Ok(()) => self.reply_late(waiter.request, Ok(Reply::Done)),
                Err(_) => {
                    let full = Err(Failure::Errno(Errno::ENOLCK));
                    self.reply_late(waiter.request, full);
                    refused.push(waiter.lock.owner.session);
                }
            }
        }
        self.put_lock_waiters(file, still_waiting);
        for session in refused {
            self.forget_file_of_session(session, file);
        }
    }

    /// Removes all locks of a removed file; waiting requests fail with `ESTALE`.
    pub fn drop_locks(&mut self, file: FileId) {
        let (locks, waiters) = (self.locks(file).to_vec(), self.lock_waiters(file));
        self.put_locks(file, Vec::new());
        self.put_lock_waiters(file, Vec::new());
        for waiter in &waiters {
            self.reply_late(waiter.request, Err(Failure::Errno(Errno::ESTALE)));
        }
        let holders = locks.iter().map(|lock| lock.owner.session);
        let waiting = waiters.iter().map(|waiter| waiter.lock.owner.session);
        for session in holders.chain(waiting) {
            self.forget_file_of_session(session, file);
        }
    }

    /// Cancels the waiting lock request `sequence` of the present session with `EINTR`.
    pub fn cancel_lock(&mut self, file: FileId, sequence: u64) {
        let session = self.request.session;
        let mut waiters = self.lock_waiters(file);
        let before = waiters.len();
        waiters.retain(|w| w.request.session != session || w.request.sequence != sequence);
        if waiters.len() < before {
            self.put_lock_waiters(file, waiters);
            let request = RequestId { session, sequence };
            self.reply_late(request, Err(Failure::Errno(Errno::EINTR)));
            self.forget_file_of_session(session, file);
        }
    }
}
