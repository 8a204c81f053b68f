//! Data, through files that stay open and files that are opened for one call.

use super::{Mount, observation};
use crate::journal::Journal;
use futago_base::FileId;
use futago_client::AllocateMode;
use futago_twin::model::{Observed, Operation, Outcome};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use rustix::io::{self, Errno};

impl Mount {
    /// Performs an operation on data.
    pub(super) fn data(
        &mut self,
        operation: &Operation,
        journal: &mut Journal,
    ) -> Option<Observed> {
        let id = operation.file()?;
        let open = self.open.iter().position(|(open, _)| *open == id);
        match (operation, open) {
            (Operation::Open(_), _) => {
                let file = self.open_file(id, OFlags::RDWR, journal)?;
                self.open.push((id, file));
                Some(Ok(Outcome::Done))
            }
            (Operation::Close(_), Some(at)) => {
                let (_, file) = self.open.swap_remove(at);
                release(id, file, journal);
                Some(Ok(Outcome::Done))
            }
            (Operation::Close(_), None) => None,
            (Operation::Append { .. }, _) => {
                let file = self.open_file(id, OFlags::WRONLY | OFlags::APPEND, journal)?;
                use_and_release(operation, id, file, journal)
            }
            (_, Some(at)) => {
                let file = self.open[at].1.as_fd();
                journal.observe(operation, || call(operation, file), observation)
            }
            (_, None) => {
                let file = self.open_file(id, OFlags::RDWR, journal)?;
                use_and_release(operation, id, file, journal)
            }
        }
    }

    fn open_file(&self, id: FileId, flags: OFlags, journal: &mut Journal) -> Option<OwnedFd> {
        let mut file = None;
        let open = || fs::open(self.path(id)?, flags, Mode::empty());
        journal.observe(&Operation::Open(id), open, |opened| {
            observation(opened.map(|opened| {
                file = Some(opened);
                Outcome::Done
            }))
        });
        file
    }
}

fn use_and_release(
    operation: &Operation,
    id: FileId,
    file: OwnedFd,
    journal: &mut Journal,
) -> Option<Observed> {
    let observed = journal.observe(operation, || call(operation, file.as_fd()), observation);
    release(id, file, journal);
    observed
}

fn release(id: FileId, file: OwnedFd, journal: &mut Journal) {
    let done = |()| Some(Ok(Outcome::Done));
    journal.observe(&Operation::Release(id), || drop(file), done);
}

fn call(operation: &Operation, file: BorrowedFd<'_>) -> io::Result<Outcome> {
    use Operation as O;
    match operation {
        O::Truncate { size, .. } => fs::ftruncate(file, *size)?,
        O::Read { offset, length, .. } => {
            let mut bytes = vec![0; *length as usize];
            let read = io::pread(file, &mut bytes[..], *offset)?;
            bytes.truncate(read);
            return Ok(Outcome::Bytes(bytes.into()));
        }
        O::Write {
            offset,
            length,
            tag,
            ..
        } => {
            let bytes = vec![*tag; *length as usize];
            complete(io::pwrite(file, &bytes, *offset)?, *length)?;
        }
        O::Append { length, tag, .. } => {
            let bytes = vec![*tag; *length as usize];
            complete(io::write(file, &bytes)?, *length)?;
        }
        O::Allocate {
            mode,
            offset,
            length,
            ..
        } => fs::fallocate(file, flags_of(*mode), *offset, *length)?,
        _ => return Err(Errno::NOSYS),
    }
    Ok(Outcome::Done)
}

/// A partial write is a fault of the file system.
fn complete(written: usize, length: u32) -> io::Result<()> {
    if written == length as usize {
        Ok(())
    } else {
        Err(Errno::IO)
    }
}

fn flags_of(mode: AllocateMode) -> FallocateFlags {
    let keep_size_if = |keep_size| {
        if keep_size {
            FallocateFlags::KEEP_SIZE
        } else {
            FallocateFlags::empty()
        }
    };
    match mode {
        AllocateMode::Allocate { keep_size } => keep_size_if(keep_size),
        AllocateMode::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        AllocateMode::ZeroRange { keep_size } => {
            FallocateFlags::ZERO_RANGE | keep_size_if(keep_size)
        }
    }
}
