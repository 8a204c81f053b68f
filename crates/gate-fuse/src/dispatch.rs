//! Which function does which operation.

use crate::answer::Outcome;
use crate::call::Call;
use crate::operations::{attributes, data, directories, locks, names, nodes, open, xattrs};
use futago_base::Errno;
use futago_fuse_kernel::Operation;

/// Runs an operation. Those that take much more place than the frequent ones get it apart, or every
/// request would have to have it.
pub async fn run(call: &Call, operation: Operation) -> Outcome {
    match operation {
        Operation::Lookup { name } => names::lookup(call, name).await,
        Operation::Unlink { name } => names::unlink(call, name).await,
        Operation::RemoveDirectory { name } => names::remove_directory(call, name).await,
        Operation::Rename(rename) => Box::pin(names::rename(call, rename)).await,
        Operation::Link { node, name } => names::link(call, node, name).await,

        Operation::MakeNode(make) => nodes::make_node(call, make).await,
        Operation::MakeDirectory { name, mode, .. } => {
            nodes::make_directory(call, name, mode).await
        }
        Operation::Symlink { name, target } => nodes::symlink(call, name, target).await,
        Operation::ReadLink => nodes::read_link(call).await,

        Operation::Open {
            flags,
            kill_suidgid,
        } => open::open(call, flags, kill_suidgid).await,
        Operation::Create(create) => open::create(call, create).await,
        Operation::TemporaryFile(create) => open::temporary_file(call, create).await,
        Operation::Flush { handle, lock_owner } => open::flush(call, handle, lock_owner).await,
        Operation::Release(release) => open::release(call, release).await,

        Operation::GetAttributes { handle } => attributes::get(call, handle.is_some()).await,
        Operation::Statx { .. } => attributes::statx(call).await,
        Operation::SetAttributes(set) => attributes::set(call, &set).await,
        Operation::StatFs => attributes::usage(call).await,

        Operation::Read(read) => data::read(call, &read).await,
        Operation::Write(write) => data::write(call, write).await,
        Operation::Fsync { handle, .. } => data::synchronize(call, handle).await,
        Operation::FsyncDirectory { .. } => data::synchronize_directory(call).await,
        Operation::SyncFs => data::synchronize_all(call).await,
        Operation::Fallocate(range) => data::allocate(call, &range).await,
        Operation::Seek {
            handle,
            offset,
            whence,
        } => data::seek(call, handle, offset, whence).await,
        Operation::CopyFileRange(copy) => Box::pin(data::copy(call, &copy)).await,

        Operation::ReadDirectory { offset, size, .. } => {
            directories::read(call, offset, size).await
        }
        Operation::ReadDirectoryPlus { offset, size, .. } => {
            directories::read_plus(call, offset, size).await
        }

        Operation::GetLock(request) => locks::test(call, &request).await,
        Operation::SetLock {
            request,
            wait,
            flock,
        } => locks::set(call, &request, wait, flock).await,

        Operation::GetXattr { name, size } => xattrs::get(call, name, size).await,
        Operation::SetXattr(set) => xattrs::set(call, set).await,
        Operation::ListXattr { size } => xattrs::list(call, size).await,
        Operation::RemoveXattr { name } => xattrs::remove(call, name).await,
        _ => Err(Errno::ENOSYS),
    }
}
