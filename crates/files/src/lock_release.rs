//! Releases of locks that no program waits for. One that fails is repeated, because nobody else
//! would release the locks before the session ends.

use crate::{LockHolder, OpenFile, OpenFiles, Operations};
use alloc::vec::Vec;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    mem::take,
    pin::pin,
    task::{Poll, Waker},
};
use futago_base::{Duration, Errno, FileId, SessionId, record::LockRange};
use futago_client::{Context, join_all};
use futago_wire::LockChange;

/// The pause before failed releases are repeated.
const REPEAT_PAUSE: Duration = Duration::from_secs(1);

/// A release of locks, in the session that took them: they end with it.
#[derive(Debug)]
struct Release {
    file: FileId,
    session: SessionId,
    unlock: LockChange,
}

impl Release {
    const fn holder(&self) -> LockHolder {
        LockHolder::of_change(self.file, &self.unlock)
    }

    async fn attempt(&self, client: &impl Operations) -> Result<(), Errno> {
        let core = client.core();
        let release = pin!(core.set_lock(self.file, self.unlock, None));
        core.in_session(self.session, release).await
    }
}

/// Whether the holder may still have the locks: all errors but those of an overload or a server
/// that cannot be reached are final.
const fn is_unknown(released: Result<(), Errno>) -> bool {
    matches!(released, Err(Errno::EIO | Errno::EBUSY))
}

/// The releases to repeat.
#[derive(Debug, Default)]
pub(crate) struct FailedReleases(AtomicRefCell<Failed>);

#[derive(Debug, Default)]
struct Failed {
    releases: Vec<Release>,
    /// The task that repeats them.
    waiter: Option<Waker>,
}

impl FailedReleases {
    fn add(&self, release: Release) {
        let failed = &mut *self.0.borrow_mut();
        failed.releases.push(release);
        if let Some(waiter) = failed.waiter.take() {
            waiter.wake();
        }
    }

    fn take(&self) -> Vec<Release> {
        take(&mut self.0.borrow_mut().releases)
    }

    /// Waits until there is a failed release.
    async fn any(&self) {
        poll_fn(|task| {
            let failed = &mut *self.0.borrow_mut();
            if !failed.releases.is_empty() {
                return Poll::Ready(());
            }
            failed.waiter = Some(task.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl OpenFiles {
    /// Releases locks that were taken through an open file. A release that fails is repeated in the
    /// background, and its holder gets no other lock meanwhile.
    ///
    /// # Errors
    /// Those of the first attempt.
    pub async fn release_lock(
        &self,
        client: &impl Operations,
        open: &OpenFile,
        unlock: LockChange,
    ) -> Result<(), Errno> {
        let release = Release {
            file: open.id(),
            session: open.session,
            unlock,
        };
        let released = release.attempt(client).await;
        if is_unknown(released) {
            self.unsettled.begin(release.holder());
            self.failed_releases.add(release);
        }
        released
    }

    /// Releases all locks of a holder.
    pub(crate) async fn release_all(
        &self,
        client: &impl Operations,
        open: &OpenFile,
        holder: LockHolder,
    ) -> Result<(), Errno> {
        let all = LockChange {
            space: holder.space,
            kind: None,
            owner: holder.owner,
            range: LockRange {
                start: 0,
                end: u64::MAX,
            },
            pid: 0,
        };
        self.release_lock(client, open, all).await
    }

    /// Repeats failed releases, for as long as the client lives. One task of the client runs this.
    pub async fn keep_releasing(&self, client: &impl Operations) {
        loop {
            self.failed_releases.any().await;
            client.core().context().sleep(REPEAT_PAUSE).await;
            let failed = self.failed_releases.take().into_iter();
            join_all(failed.map(|release| self.repeat(client, release))).await;
        }
    }

    async fn repeat(&self, client: &impl Operations, release: Release) {
        if is_unknown(release.attempt(client).await) {
            self.failed_releases.add(release);
        } else {
            self.unsettled.end(release.holder());
        }
    }
}
