//! File data.

use super::pages;
use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::direct_changes::Way;
use futago_base::{Errno, FileId, Payload};
use futago_client::AllocateMode;
use futago_files::{CopyRange, FileWrite, WriteOffset, allocate_mode};
use futago_fuse_kernel::{CopyFileRange, Fallocate, Read, Write};
use std::ops::Range;
use std::pin::pin;

/// The memory that a large write shares: the buffer that requests are read into.
pub const REQUEST_BUFFER_BYTES: usize = (1 << 20) + 4096;
/// The most that one request copies: a caller that is interrupted waits for no more.
const COPY_BYTES_MAX: u64 = 1 << 28;

pub async fn read(call: &Call, read: &Read) -> Outcome {
    Ok(Answer::Data(pages::read(call, read).await?))
}

pub async fn write(call: &Call, write: Write) -> Outcome {
    if write.from_cache {
        return Box::pin(write_back(call, write)).await;
    }
    let open = call.shared.handles.get(write.handle)?;
    let write = file_write(write);
    let bytes = write.data.len() as u32;
    let drops_set_id = write.kill_privileges && call.client.may_be_set_id(call.file);
    let changes = &call.shared.direct_changes;
    let change = changes.begin(call.file, Way::Direct, write.may_change());
    let change = change.await;
    change.made(open.write(&*call.client, write).await?);
    if drops_set_id {
        // The kernel keeps the mode, by which it would start programs.
        call.shared.known_nodes.changed(call.file.0);
    }
    pages::changed(call, call.file).await;
    Ok(Answer::Written(bytes))
}

/// Writes what comes from the kernel's pages, which are locked meanwhile, but for what is older
/// than the file.
async fn write_back(call: &Call, write: Write) -> Outcome {
    let (changes, id) = (&call.shared.direct_changes, call.file);
    let range = span(write.offset, write.data.len() as u64);
    let open = call.shared.handles.get(write.handle)?;
    let drops_set_id = write.kill_suidgid && call.client.may_be_set_id(id);
    let _change = changes.begin(id, Way::WriteBack, range.clone()).await;
    for current in changes.without_outdated(id, range) {
        let from = (current.start - write.offset) as usize;
        let to = (current.end - write.offset) as usize;
        let part = file_write(Write {
            offset: current.start,
            data: write.data.slice(from..to),
            ..write.clone()
        });
        open.write(&*call.client, part).await?;
        if drops_set_id {
            call.shared.known_nodes.changed(id.0);
        }
    }
    Ok(Answer::Written(write.data.len() as u32))
}

/// A write of a file opened with `O_APPEND` goes to the end that its home knows; the kernel's
/// offset may be old. Data of a shared mapping has its place.
fn file_write(write: Write) -> FileWrite {
    let has = |flag: libc::c_int| write.flags & flag as u32 != 0;
    let offset = if has(libc::O_APPEND) && !write.from_cache {
        WriteOffset::End
    } else {
        WriteOffset::At(write.offset)
    };
    FileWrite {
        offset,
        kill_privileges: write.kill_suidgid,
        is_synchronous: has(libc::O_DSYNC),
        data: Payload::within(write.data, REQUEST_BUFFER_BYTES),
    }
}

const fn span(offset: u64, bytes: u64) -> Range<u64> {
    offset..offset.saturating_add(bytes)
}

/// Whether a change of a file's data that is not a write takes set-user-id and set-group-id bits
/// away, as others than root do. For writes and changes of size the kernel says so.
fn drops_set_id(call: &Call, id: FileId) -> bool {
    !call.credentials().is_root() && call.client.may_be_set_id(id)
}

/// Has the client send what it buffers of the file.
pub async fn synchronize(call: &Call, handle: u64) -> Outcome {
    let open = call.shared.handles.get(handle)?;
    open.synchronize(&*call.client).await?;
    Ok(Answer::Done)
}

/// As above for all files. A loss is reported to the writer of the lost data.
pub async fn synchronize_all(call: &Call) -> Outcome {
    call.client.files().synchronize_all(&*call.client).await?;
    Ok(Answer::Done)
}

/// Makes the names in a directory survive a loss of power.
pub async fn synchronize_directory(call: &Call) -> Outcome {
    call.client.core().make_durable(call.file).await?;
    Ok(Answer::Done)
}

pub async fn allocate(call: &Call, range: &Fallocate) -> Outcome {
    let mode = allocate_mode(range.mode).ok_or(Errno::EOPNOTSUPP)?;
    let open = call.shared.handles.get(range.handle)?;
    let (id, changed) = (call.file, changed_bytes(mode, range));
    let change = (call.shared.direct_changes).begin(id, Way::Direct, changed.clone());
    let change = change.await;
    let drops_set_id = drops_set_id(call, id);
    let range = span(range.offset, range.length);
    let allocated = open.allocate(&*call.client, mode, range, drops_set_id);
    let allocated = allocated.await;
    if drops_set_id {
        call.shared.known_nodes.changed(id.0);
    }
    allocated?;
    change.made(changed);
    pages::changed(call, id).await;
    Ok(Answer::Done)
}

/// The bytes that are zero afterwards and may have been others.
fn changed_bytes(mode: AllocateMode, range: &Fallocate) -> Range<u64> {
    match mode {
        AllocateMode::Allocate { .. } => 0..0,
        AllocateMode::PunchHole | AllocateMode::ZeroRange { .. } => {
            span(range.offset, range.length)
        }
    }
}

pub async fn seek(call: &Call, handle: u64, offset: u64, whence: u32) -> Outcome {
    let seek = pin!(async {
        match whence as i32 {
            libc::SEEK_DATA => call.client.seek_data(call.file, offset).await,
            libc::SEEK_HOLE => call.client.seek_hole(call.file, offset).await,
            _ => Err(Errno::EINVAL),
        }
    });
    Ok(Answer::Offset(call.on_open_file(handle, seek).await?))
}

pub async fn copy(call: &Call, copy: &CopyFileRange) -> Outcome {
    let length = copy.length.min(COPY_BYTES_MAX);
    let (target, target_offset) = (FileId(copy.target_node), copy.target_offset);
    let handles = &call.shared.handles;
    let (from, to) = (handles.get(copy.handle)?, handles.get(copy.target_handle)?);
    let may_change = span(target_offset, length);
    let change = (call.shared.direct_changes).begin(target, Way::Direct, may_change);
    let change = change.await;
    let drops_set_id = drops_set_id(call, target);
    let range = CopyRange {
        source_offset: copy.offset,
        target_offset,
        length,
        kill_privileges: drops_set_id,
    };
    let copied = from.copy_range(&*call.client, &to, range).await;
    if drops_set_id {
        call.shared.known_nodes.changed(target.0);
    }
    let copied = copied?;
    change.made(span(target_offset, copied));
    pages::changed(call, target).await;
    Ok(Answer::Copied(copied))
}
