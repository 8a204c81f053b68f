//! Advisory locks of open files, and their end.

use crate::{LockHolder, OpenFile, OpenFiles, Operations};
use alloc::boxed::Box;
use core::pin::pin;
use futago_base::Errno;
use futago_client::{Cancel, Context, first_of};
use futago_wire::LockChange;

impl OpenFiles {
    /// Takes or releases a lock. With `wait`, it waits until the lock is granted or the wait is
    /// cancelled.
    ///
    /// # Errors
    /// `EAGAIN` for a conflict, `EINTR` if cancelled, `ESTALE` if the session has ended, `EIO` if
    /// the server cannot be reached that has to release earlier locks of the holder.
    pub async fn set_lock(
        &self,
        client: &impl Operations,
        open: &OpenFile,
        change: LockChange,
        wait: Option<&Cancel>,
    ) -> Result<(), Errno> {
        let holder = LockHolder::of_change(open.id(), &change);
        if !self.unsettled.is_settled(holder) {
            // Boxed, because it is rare.
            Box::pin(self.settled(client, holder)).await?;
        }
        let holders = &open.node.lock_holders;
        let wait = match change.kind {
            Some(_) => {
                holders.note(holder, open.number());
                wait
            }
            None if holders.has(holder) => None,
            None => return Ok(()),
        };
        let set = pin!(client.core().set_lock(open.id(), change, wait));
        open.run(client, set).await
    }

    /// Waits until no release of a holder is under way, whose server may be gone for good.
    async fn settled(&self, client: &impl Operations, holder: LockHolder) -> Result<(), Errno> {
        let core = client.core();
        let settled = pin!(self.unsettled.settled(holder));
        let give_up = pin!(core.context().sleep(core.config().retry));
        first_of(settled, give_up).await.ok_or(Errno::EIO)
    }

    /// A caller that waits for a lock is let go. The holder gets no other lock until its outcome is
    /// known and taken back: then [`OpenFiles::settle`] is to be called.
    pub fn let_go(&self, holder: LockHolder) {
        self.unsettled.begin(holder);
    }

    /// Ends [`OpenFiles::let_go`].
    pub fn settle(&self, holder: LockHolder) {
        self.unsettled.end(holder);
    }

    /// The operation of `close` on one of the descriptors of an open file: all earlier writes to
    /// the file are on its servers, and the locks on ranges that `owner` has on it are released.
    ///
    /// # Errors
    /// As [`OpenFile::synchronize`], or those of the release, which is repeated.
    pub async fn flush(
        &self,
        client: &impl Operations,
        open: &OpenFile,
        owner: u64,
    ) -> Result<(), Errno> {
        let written = open.write_back(client).await;
        let holder = LockHolder::of_ranges(open.id(), owner);
        let holders = &open.node.lock_holders;
        if !holders.has(holder) {
            return written;
        }
        holders.forget(holder);
        let released = self.release_all(client, open, holder).await;
        // The loss of data is reported once, so it comes first.
        written.and(released)
    }

    /// Releases the locks that were taken through an open file which is being closed.
    pub(crate) async fn release_locks(&self, client: &impl Operations, open: &OpenFile) {
        let holders = open.node.lock_holders.forget_open(open.number());
        for &holder in &holders {
            self.unsettled.begin(holder);
        }
        for holder in holders {
            // A failed release is repeated.
            self.release_all(client, open, holder).await.ok();
            self.unsettled.end(holder);
        }
    }
}
