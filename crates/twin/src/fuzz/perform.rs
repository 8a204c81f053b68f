//! Operations as calls of the client core.

use super::step::{SEARCHED, TESTED};
use crate::model::{LockRequest, NewKind, Observed, Operation, Outcome};
use bytes::Bytes;
use futago_base::{
    Duration, Errno, FileId, Kind, Name, NameHash, Payload, Timestamp,
    record::LockRange,
    search::{Test, Tests},
};
use futago_client::{Cancel, Client, Context, CreateFlags, FoundFile, SearchOptions};
use futago_wire::{AttributeChange, ListedEntry, LockChange, NewContent, NewNode};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// After so long a client stops waiting for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);

/// Does an operation and returns what a user would see.
///
/// # Errors
/// The operation's.
pub async fn perform<C: Context>(core: &Client<C>, operation: &Operation) -> Observed {
    use Operation as O;
    match operation {
        O::Lookup { directory, name } => {
            let state = core.lookup(*directory, name).await?;
            Ok(Outcome::File(state, false))
        }
        O::Create { .. } => create(core, operation).await,
        O::CreateUnnamed { directory, mode } => create_unnamed(core, *directory, *mode).await,
        O::MakeDirectory {
            directory,
            name,
            mode,
        } => {
            let state = core.make_directory(*directory, name, *mode, 0, 0).await?;
            Ok(Outcome::File(state, true))
        }
        O::Unlink { directory, name } => done(core.unlink(*directory, name).await),
        O::RemoveDirectory { directory, name } => {
            done(core.remove_directory(*directory, name).await)
        }
        O::Rename {
            directory,
            name,
            new_directory,
            new_name,
            flags,
        } => done(
            core.rename(*directory, name, *new_directory, new_name, *flags)
                .await,
        ),
        O::Link {
            id,
            directory,
            name,
        } => Ok(Outcome::File(
            core.link(*id, *directory, name).await?,
            false,
        )),
        O::ReadDirectory { directory, page } => list_or_search(core, *directory, *page).await,
        O::Parent(id) => Ok(Outcome::Identity(core.parent(*id).await?)),
        O::Attributes(_)
        | O::SetMode { .. }
        | O::SetOwner { .. }
        | O::Truncate { .. }
        | O::ReadLink(_)
        | O::Open(_)
        | O::Close(_)
        | O::GetXattr { .. }
        | O::SetXattr { .. }
        | O::ListXattrs(_)
        | O::RemoveXattr { .. } => attributes(core, operation).await,
        O::TestLock { id, lock } => Ok(Outcome::Lock(core.test_lock(*id, change(lock)).await?)),
        O::SetLock { id, lock, wait } => done(set_lock(core, *id, change(lock), *wait).await),
        _ => data(core, operation).await,
    }
}

fn done(result: Result<(), Errno>) -> Observed {
    result.map(|()| Outcome::Done)
}

pub(super) fn filled(length: u32, tag: u8) -> Payload {
    Payload::from(Bytes::from(vec![tag; length as usize]))
}

async fn create<C: Context>(core: &Client<C>, operation: &Operation) -> Observed {
    let Operation::Create {
        directory,
        name,
        kind,
        mode,
        exclusive,
        open,
        tag,
    } = operation
    else {
        return Err(Errno::ENOSYS);
    };
    let default_chunk_bytes = core.config().chunk_bytes;
    let file = NewContent::InheritingFile {
        default_chunk_bytes,
    };
    let (content, data) = match kind {
        NewKind::File(bytes) => (file, filled(*bytes, *tag)),
        NewKind::Released(bytes) => {
            let released = NewContent::ReleasedFile {
                default_chunk_bytes,
                size: u64::from(*bytes),
            };
            (released, Payload::empty())
        }
        NewKind::Symlink => (
            NewContent::Symlink(Bytes::from(vec![*tag; 8])),
            Payload::empty(),
        ),
        NewKind::Fifo => (NewContent::Fifo, Payload::empty()),
    };
    let node = NewNode {
        content,
        mode: *mode,
        uid: 0,
        gid: 0,
    };
    let (state, created) = core
        .create(
            *directory,
            name,
            node,
            CreateFlags {
                exclusive: *exclusive,
                open: *open,
            },
            data,
        )
        .await?;
    Ok(Outcome::File(state, created))
}

async fn create_unnamed<C: Context>(core: &Client<C>, directory: FileId, mode: u16) -> Observed {
    let default_chunk_bytes = core.config().chunk_bytes;
    let node = NewNode {
        content: NewContent::InheritingFile {
            default_chunk_bytes,
        },
        mode,
        uid: 0,
        gid: 0,
    };
    let state = core.create_unnamed(directory, node).await?;
    Ok(Outcome::File(state, true))
}

async fn attributes<C: Context>(core: &Client<C>, operation: &Operation) -> Observed {
    use Operation as O;
    match operation {
        O::Attributes(id) => Ok(Outcome::File(core.attributes(*id).await?, false)),
        O::SetMode { .. } | O::SetOwner { .. } | O::Truncate { .. } => {
            let (id, change) = attribute_change(operation).ok_or(Errno::ENOSYS)?;
            let state = core.set_attributes(id, change).await?;
            Ok(Outcome::File(state, false))
        }
        O::ReadLink(id) => Ok(Outcome::Bytes(core.read_link(*id).await?)),
        O::Open(id) => Ok(Outcome::File(core.open(*id).await?, false)),
        O::Close(id) => done(core.close(*id).await),
        _ => xattrs(core, operation).await,
    }
}

/// The file whose attributes an operation changes, and the change.
fn attribute_change(operation: &Operation) -> Option<(FileId, AttributeChange)> {
    use Operation as O;
    let mut change = AttributeChange::default();
    let id = match operation {
        O::SetMode { id, mode } => {
            change.mode = Some(*mode);
            id
        }
        O::SetOwner { id, uid, gid } => {
            (change.uid, change.gid) = (Some(*uid), Some(*gid));
            id
        }
        O::Truncate { id, size } => {
            change.size = Some(*size);
            id
        }
        _ => return None,
    };
    Some((*id, change))
}

async fn xattrs<C: Context>(core: &Client<C>, operation: &Operation) -> Observed {
    use Operation as O;
    match operation {
        O::GetXattr { id, name } => Ok(Outcome::Bytes(core.get_xattr(*id, name).await?)),
        O::SetXattr {
            id,
            name,
            mode,
            tag,
        } => {
            let value = Bytes::from(vec![*tag; 5]);
            done(core.set_xattr(*id, name, value, *mode).await)
        }
        O::ListXattrs(id) => Ok(Outcome::Names(core.list_xattrs(*id).await?)),
        O::RemoveXattr { id, name } => done(core.remove_xattr(*id, name).await),
        _ => Err(Errno::ENOSYS),
    }
}

async fn data<C: Context>(core: &Client<C>, operation: &Operation) -> Observed {
    use Operation as O;
    match operation {
        O::Read { id, offset, length } => {
            let data = core.read(*id, *offset, *length).await?;
            Ok(Outcome::Bytes(data.bytes()))
        }
        O::Write {
            id,
            offset,
            length,
            tag,
        } => {
            let size = core
                .write(*id, *offset, filled(*length, *tag), false)
                .await?;
            Ok(Outcome::Number(size))
        }
        O::Append { id, length, tag } => {
            let offset = core.append(*id, filled(*length, *tag), false).await?;
            Ok(Outcome::Number(offset))
        }
        O::Allocate {
            id,
            mode,
            offset,
            length,
        } => done(core.allocate(*id, *mode, *offset, *length).await),
        O::SeekData { id, offset } => Ok(Outcome::Number(core.seek_data(*id, *offset).await?)),
        O::SeekHole { id, offset } => Ok(Outcome::Number(core.seek_hole(*id, *offset).await?)),
        O::CopyRange {
            source,
            from,
            target,
            offset,
            length,
        } => {
            let copied = core
                .copy_range(*source, *from, *target, *offset, *length)
                .await?;
            Ok(Outcome::Number(copied))
        }
        _ => Err(Errno::ENOSYS),
    }
}

async fn list_or_search<C: Context>(core: &Client<C>, directory: FileId, page: u32) -> Observed {
    match page {
        SEARCHED => search(core, directory, Tests::default()).await,
        TESTED => search(core, directory, all_times()).await,
        page => list(core, directory, page).await,
    }
}

async fn list<C: Context>(core: &Client<C>, directory: FileId, page: u32) -> Observed {
    let mut entries: Vec<ListedEntry> = Vec::new();
    loop {
        let after = entries
            .last()
            .map_or(NameHash(0), |entry| hash(&entry.name));
        let more = core.read_directory(directory, after, page, false).await?;
        if more.is_empty() {
            return Ok(Outcome::Listing(entries));
        }
        entries.extend(more);
    }
}

/// A test of attributes that every file passes.
fn all_times() -> Tests {
    let never = Timestamp {
        seconds: i64::MIN,
        nanos: 0,
    };
    Tests(vec![Test::ModifiedAfter(never)])
}

/// Lists a directory by a search at its servers.
async fn search<C: Context>(core: &Client<C>, directory: FileId, tests: Tests) -> Observed {
    let attributes = core.attributes(directory).await?.attributes;
    if attributes.kind != Kind::Directory {
        return Err(Errno::ENOTDIR);
    }
    let options = SearchOptions {
        tests,
        depth_min: 1,
        depth_max: 1,
        ..SearchOptions::default()
    };
    let mut search = core.search(b"/", &attributes, options);
    let mut entries = Vec::new();
    while let Some(batch) = search.next().await {
        if let Some(failure) = batch.failures.first() {
            return Err(failure.errno);
        }
        for found in batch.files {
            entries.push(listed(&found)?);
        }
    }
    // The files of a search come in no order; those of a listing do.
    entries.sort_by_cached_key(|entry| (hash(&entry.name), entry.name.clone()));
    Ok(Outcome::Listing(entries))
}

/// A file that was found below `/`.
fn listed(found: &FoundFile) -> Result<ListedEntry, Errno> {
    Ok(ListedEntry {
        name: Name::new(found.path.slice(1..))?,
        entry: found.entry,
        attributes: None,
    })
}

fn hash(name: &Name) -> NameHash {
    name.hash()
}

const fn change(lock: &LockRequest) -> LockChange {
    LockChange {
        space: lock.space,
        kind: lock.kind,
        owner: lock.owner,
        range: LockRange {
            start: lock.from,
            end: if lock.to == u64::MAX {
                u64::MAX
            } else {
                lock.to - 1
            },
        },
        pid: 1,
    }
}

/// Takes a lock; a wait ends after [`LOCK_TIMEOUT`].
async fn set_lock<C: Context>(
    core: &Client<C>,
    id: FileId,
    lock: LockChange,
    wait: bool,
) -> Result<(), Errno> {
    if !wait {
        return core.set_lock(id, lock, None).await;
    }
    let cancel = Cancel::new();
    let mut locking = pin!(core.set_lock(id, lock, Some(&cancel)));
    let mut timeout = pin!(core.context().sleep(LOCK_TIMEOUT));
    poll_fn(|task| {
        if !cancel.is_cancelled() && timeout.as_mut().poll(task) == Poll::Ready(()) {
            cancel.cancel();
        }
        locking.as_mut().poll(task)
    })
    .await
}

/// Removes what is in a directory.
///
/// # Errors
/// What cannot be listed or removed.
pub async fn remove_entries<C: Context>(core: &Client<C>, directory: FileId) -> Result<(), Errno> {
    loop {
        let entries = core
            .read_directory(directory, NameHash(0), 100, false)
            .await?;
        if entries.is_empty() {
            return Ok(());
        }
        for ListedEntry { name, entry, .. } in entries {
            if entry.kind == Kind::Directory {
                Box::pin(remove_entries(core, entry.id)).await?;
                core.remove_directory(directory, &name).await?;
            } else {
                core.unlink(directory, &name).await?;
            }
        }
    }
}
