//! Requests that need no server.

use crate::answer::{Answer, Outcome};
use crate::call::Shared;
use crate::lock_notes::Holder;
use futago_base::{Errno, FileId};
use futago_files::xattrs;
use futago_fuse_kernel::Operation;

/// The answer to a request that needs no server.
pub fn answer(shared: &Shared, file: FileId, operation: &Operation) -> Option<Outcome> {
    match operation {
        // Every change of a directory is on its servers when it has returned.
        Operation::FsyncDirectory { .. } => Some(Ok(Answer::Done)),
        Operation::Fsync { handle, .. } => {
            let is_clean = shared.handles.is_clean(*handle);
            is_clean.then_some(Ok(Answer::Done))
        }
        Operation::Flush { handle, lock_owner } => {
            let has_locks = shared.locks.has(Holder::of_ranges(file, *lock_owner));
            let is_done = !has_locks && shared.handles.is_clean(*handle);
            is_done.then_some(Ok(Answer::Done))
        }
        // A directory need not be registered as open: listing one that was removed finds nothing.
        // Once this is refused, the kernel keeps listings and opens directories without asking.
        Operation::OpenDirectory { .. } if shared.listings.are_cached() => Some(Err(Errno::ENOSYS)),
        Operation::OpenDirectory { .. } => Some(Ok(Answer::OpenedDirectory)),
        Operation::ReleaseDirectory { .. } => Some(Ok(Answer::Done)),
        Operation::GetXattr { name, .. } | Operation::RemoveXattr { name } => refused(name),
        Operation::SetXattr(set) => refused(&set.name),
        Operation::Access { .. }
        | Operation::MapBlock { .. }
        | Operation::Ioctl(_)
        | Operation::Poll { .. }
        | Operation::Destroy
        | Operation::Unknown { .. } => Some(Err(Errno::ENOSYS)),
        _ => None,
    }
}

fn refused(name: &[u8]) -> Option<Outcome> {
    (!xattrs::is_supported(name)).then_some(Err(Errno::EOPNOTSUPP))
}
