//! Requests that need no server.

use crate::answer::{Answer, Outcome};
use crate::call::Shared;
use futago_base::Errno;
use futago_files::{OpenFile, xattrs};
use futago_fuse_kernel::Operation;

/// The answer to a request that needs no server.
pub fn answer(shared: &Shared, operation: &Operation) -> Option<Outcome> {
    let handles = &shared.handles;
    let has_durable_fsync = shared.starter.client().core().config().durable_fsync;
    match operation {
        // Every change of a directory is on its servers when it has returned.
        Operation::FsyncDirectory { .. } if !has_durable_fsync => Some(Ok(Answer::Done)),
        Operation::Fsync { handle, .. } if !has_durable_fsync => {
            let is_done = handles.is(*handle, OpenFile::is_clean);
            is_done.then_some(Ok(Answer::Done))
        }
        Operation::Flush { handle, .. } => {
            let is_done = |open: &OpenFile| open.is_clean() && !open.may_have_range_locks();
            handles.is(*handle, is_done).then_some(Ok(Answer::Done))
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
