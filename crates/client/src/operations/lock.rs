//! Advisory locks.

use crate::{Cancel, Client, Context, client::CallResult, join::first_of};
use core::{
    future::Future,
    pin::{Pin, pin},
};
use futago_base::{Duration, Errno, FileId, Payload, record::RangeLock};
use futago_wire::{Failure, LockChange, Reply, Request};

/// How long one request waits for a lock. Servers keep the replies of a session from the oldest
/// pending request on, so no request may be pending for as long as a program waits.
const WAIT_MAX: Duration = Duration::from_secs(10);

impl<C: Context> Client<C> {
    /// The lock that conflicts with `lock`, if any.
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

    /// Takes or releases a lock. With `wait`, it waits until the lock is granted or the wait is
    /// cancelled. Errors: `EAGAIN` for a conflict, `EINTR` if cancelled.
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
                self.command_home(id, request).await
            }
        }
    }

    async fn wait_for_lock(
        &self,
        id: FileId,
        lock: LockChange,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        loop {
            if cancel.is_cancelled() {
                return Err(Errno::EINTR.into());
            }
            match self.wait_for_a_while(id, lock, cancel).await {
                Err(Failure::Errno(Errno::EINTR)) => {}
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// Waits for a lock with one request, which ends with `EINTR` if it is not granted in time.
    async fn wait_for_a_while(&self, id: FileId, lock: LockChange, cancel: &Cancel) -> CallResult {
        let sequence = self.context().next_sequence();
        let request = Request::SetLock {
            id,
            lock,
            wait: true,
        };
        let home = self.map().home(id);
        let context = self.context();
        let mut call = pin!(context.call(home, sequence, request, Payload::empty()));
        let is_over =
            async { first_of(pin!(cancel.cancelled()), pin!(context.sleep(WAIT_MAX))).await };
        match first_of(call.as_mut(), pin!(is_over)).await {
            Some(answer) => answer,
            None => self.cancel_wait(id, sequence, call).await,
        }
    }

    /// Cancels a wait. The cancellation may overtake the request or fail, so it is repeated until
    /// the request has a reply, with the lock or without.
    async fn cancel_wait(
        &self,
        id: FileId,
        sequence: u64,
        mut call: Pin<&mut impl Future<Output = CallResult>>,
    ) -> CallResult {
        let request = Request::CancelLock { id, sequence };
        for pauses in 0.. {
            // If this fails, the server may still grant the lock.
            self.ask(self.map().home(id), request.clone()).await.ok();
            if let Some(answer) = first_of(call.as_mut(), pin!(self.pause(pauses))).await {
                return answer;
            }
        }
        Err(Errno::EINTR.into())
    }
}
