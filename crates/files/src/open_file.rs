//! An open file, and its share in what happens to the node behind it.
//!
//! The client may buffer writes, so data can be lost after the write has succeeded for the program.
//! Every open file that has written to the node reports such a loss once. Losses are counted for
//! that, as on Linux (`errseq_t`): an open file remembers the count that it has reported.

use alloc::sync::Arc;
use atomic_refcell::AtomicRefCell;
use core::{
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering},
};
use futago_base::{Errno, FileId, SessionId};

use crate::{Operations, lock_holders::LockHolders};

/// A node that is open. Its open files share it.
#[derive(Debug)]
pub(crate) struct OpenNode {
    pub(crate) id: FileId,
    /// The number of open files that have written to it.
    writers: AtomicU32,
    losses: AtomicRefCell<Losses>,
    /// The owners that may hold locks on it.
    pub(crate) lock_holders: LockHolders,
}

/// The losses of buffered data.
#[derive(Debug, Default)]
struct Losses {
    count: u32,
    last: Option<Errno>,
}

impl OpenNode {
    pub(crate) fn new(id: FileId) -> Self {
        Self {
            id,
            writers: AtomicU32::new(0),
            losses: AtomicRefCell::default(),
            lock_holders: LockHolders::default(),
        }
    }

    /// Whether an open file has written to the node.
    pub(crate) fn is_written(&self) -> bool {
        self.writers.load(Ordering::Acquire) > 0
    }

    /// Something that was written to the node is lost.
    pub(crate) fn lose(&self, why: Errno) {
        let mut losses = self.losses.borrow_mut();
        losses.count = losses.count.wrapping_add(1);
        losses.last = Some(why);
    }

    /// Has the client send what it buffers of the node.
    pub(crate) async fn write_back(&self, client: &impl Operations) {
        if self.is_written()
            && let Err(why) = client.core().synchronize(self.id).await
        {
            self.lose(why);
        }
    }
}

/// An open file: what POSIX calls an open file description, which several descriptors may share.
///
/// It belongs to the session that has opened it. When servers have given up on a session, what was
/// open in it is not the client's any more: others may have locked, changed or removed the file
/// since.
#[derive(Debug)]
pub struct OpenFile {
    pub(crate) node: Arc<OpenNode>,
    number: u64,
    pub(crate) session: SessionId,
    /// The count of losses that it has reported, once it has written.
    losses_reported: AtomicRefCell<Option<u32>>,
}

impl OpenFile {
    pub(crate) const fn new(node: Arc<OpenNode>, number: u64, session: SessionId) -> Self {
        Self {
            node,
            number,
            session,
            losses_reported: AtomicRefCell::new(None),
        }
    }

    /// The file.
    pub fn id(&self) -> FileId {
        self.node.id
    }

    /// The number of this open file, which no other of the client has.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Whether the client buffers nothing of the file that was written through open files. Any
    /// thread may ask, also while another one uses the client.
    pub fn is_clean(&self) -> bool {
        !self.node.is_written()
    }

    /// Whether anybody may hold locks on ranges of the file. Any thread may ask, as above.
    pub fn may_have_range_locks(&self) -> bool {
        self.node.lock_holders.have_ranges()
    }

    /// Runs an operation on the open file, in the session that has opened it.
    ///
    /// # Errors
    /// `ESTALE` if that session has ended, and those of the operation.
    pub async fn run<T>(
        &self,
        client: &impl Operations,
        operation: Pin<&mut impl Future<Output = Result<T, Errno>>>,
    ) -> Result<T, Errno> {
        client.core().in_session(self.session, operation).await
    }

    /// The operation of `fsync`: all earlier writes to the file are on its servers when it returns,
    /// and survive a loss of power if the servers can do that.
    ///
    /// # Errors
    /// The reason why something that was written to the file is lost, reported once by each open
    /// file that has written to it.
    pub async fn synchronize(&self, client: &impl Operations) -> Result<(), Errno> {
        self.write_back(client).await?;
        client.core().make_durable(self.id()).await
    }

    /// The first half of it, which is all that `close` needs.
    ///
    /// # Errors
    /// As [`OpenFile::synchronize`].
    pub(crate) async fn write_back(&self, client: &impl Operations) -> Result<(), Errno> {
        self.node.write_back(client).await;
        self.report_loss()
    }

    /// Notes that a write through this open file begins.
    pub(crate) fn begin_to_write(&self) {
        let mut reported = self.losses_reported.borrow_mut();
        if reported.is_none() {
            *reported = Some(self.node.losses.borrow().count);
            self.node.writers.fetch_add(1, Ordering::Release);
        }
    }

    /// Notes that nothing is written through this open file any more.
    pub(crate) fn end(&self) {
        if self.losses_reported.borrow_mut().take().is_some() {
            self.node.writers.fetch_sub(1, Ordering::Release);
        }
    }

    /// A loss that this open file has not reported yet.
    fn report_loss(&self) -> Result<(), Errno> {
        let losses = self.node.losses.borrow();
        match &mut *self.losses_reported.borrow_mut() {
            Some(reported) if *reported != losses.count => {
                *reported = losses.count;
                losses.last.map_or(Ok(()), Err)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(node: &Arc<OpenNode>, number: u64) -> OpenFile {
        OpenFile::new(Arc::clone(node), number, SessionId(1))
    }

    #[test]
    fn every_writer_reports_a_loss_once() {
        let node = Arc::new(OpenNode::new(FileId(5)));
        let (one, other, reader) = (open(&node, 1), open(&node, 2), open(&node, 3));
        one.begin_to_write();
        other.begin_to_write();
        node.lose(Errno::EIO);
        node.lose(Errno::ENOSPC);
        assert_eq!(one.report_loss(), Err(Errno::ENOSPC));
        assert_eq!(one.report_loss(), Ok(()));
        assert_eq!(reader.report_loss(), Ok(()), "it wrote nothing");
        one.end();
        assert_eq!(other.report_loss(), Err(Errno::ENOSPC));
        assert!(!reader.is_clean());
        other.end();
        assert!(reader.is_clean());
    }

    #[test]
    fn a_loss_from_before_its_first_write_is_not_a_writers() {
        let node = Arc::new(OpenNode::new(FileId(5)));
        let late = open(&node, 1);
        node.lose(Errno::EIO);
        late.begin_to_write();
        assert_eq!(late.report_loss(), Ok(()));
        node.lose(Errno::EIO);
        late.begin_to_write();
        assert_eq!(late.report_loss(), Err(Errno::EIO));
    }
}
