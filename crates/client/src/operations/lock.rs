//! Advisory locks.

use crate::{Cancel, Client, Context, client::Answer, join::first_of};
use core::{
    future::Future,
    pin::{Pin, pin},
};
use futago_base::{
    Errno, FileId, Payload,
    record::{LockRange, LockSpace, RangeLock},
};
use futago_wire::{Failure, LockChange, Reply, Request};

impl<C: Context> Client<C> {
    /// The lock that is in the way of `lock`, if any.
    pub async fn test_lock(
        &self,
        id: FileId,
        lock: LockChange,
    ) -> Result<Option<RangeLock>, Errno> {
        match self.ask_home(id, Request::TestLock { id, lock }).await? {
            Reply::Lock(lock) => Ok(lock),
            _ => Err(Errno::EPROTO),
        }
    }

    /// Takes or gives up a lock. With `wait`, waits for it until it is granted or the wait is
    /// cancelled. Errors: `EAGAIN` if others are in the way, `EINTR` if cancelled, `EDEADLK`.
    pub async fn set_lock(
        &self,
        id: FileId,
        lock: LockChange,
        wait: Option<&Cancel>,
    ) -> Result<(), Errno> {
        match wait {
            Some(cancel) => self.persist(|| self.wait_for_lock(id, lock, cancel)).await,
            None => {
                let request = Request::SetLock {
                    id,
                    lock,
                    wait: false,
                };
                self.tell_home(id, request).await
            }
        }
    }

    async fn wait_for_lock(
        &self,
        id: FileId,
        lock: LockChange,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        if cancel.is_cancelled() {
            return Err(Errno::EINTR.into());
        }
        let sequence = self.context().next_sequence();
        let request = Request::SetLock {
            id,
            lock,
            wait: true,
        };
        let home = self.map().home(id);
        let context = self.context();
        let mut call = pin!(context.call(home, sequence, request, Payload::empty()));
        let answer = match first_of(call.as_mut(), pin!(cancel.cancelled())).await {
            Some(answer) => answer,
            None => self.cancel_wait(id, sequence, call).await,
        };
        answer.map(|_| ())
    }

    /// Ends a wait. The wish may overtake the request itself, so it is repeated until the request is
    /// answered, with the lock or without.
    async fn cancel_wait(
        &self,
        id: FileId,
        sequence: u64,
        mut call: Pin<&mut impl Future<Output = Answer>>,
    ) -> Answer {
        let request = Request::CancelLock { id, sequence };
        for pauses in 0.. {
            self.ask(self.map().home(id), request.clone()).await?;
            if let Some(answer) = first_of(call.as_mut(), pin!(self.pause(pauses))).await {
                return answer;
            }
        }
        Err(Errno::EINTR.into())
    }

    /// Gives up all locks of one owner on a file.
    pub async fn release_locks(
        &self,
        id: FileId,
        space: LockSpace,
        owner: u64,
    ) -> Result<(), Errno> {
        let all = LockChange {
            space,
            kind: None,
            owner,
            range: LockRange {
                start: 0,
                end: u64::MAX,
            },
            pid: 0,
        };
        self.set_lock(id, all, None).await
    }
}
