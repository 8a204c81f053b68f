//! File data.

use super::open::take_part;
use super::pages;
use crate::answer::{Answer, Outcome};
use crate::call::{Call, Shared};
use crate::direct_changes::Way;
use futago_base::{Errno, FileId, Payload};
use futago_client::AllocateMode;
use futago_fuse_kernel::{CopyFileRange, Fallocate, Read, Write};
use futago_node::RecordedClient;
use futago_wire::AttributeChange;
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
    let (bytes, handle) = (write.data.len() as u32, write.handle);
    let may_change = if appends(&write) {
        0..u64::MAX
    } else {
        span(write.offset, bytes.into())
    };
    let change = (call.shared.direct_changes).begin(call.file, Way::Direct, may_change);
    let change = change.await;
    let write = pin!(write_data(call, write));
    change.made(call.on_open_file(handle, write).await?);
    pages::changed(call, call.file).await;
    Ok(Answer::Written(bytes))
}

/// Writes what comes from the kernel's pages, which are locked meanwhile, but for what is older
/// than the file.
async fn write_back(call: &Call, write: Write) -> Outcome {
    let (changes, id) = (&call.shared.direct_changes, call.file);
    let range = span(write.offset, write.data.len() as u64);
    let _change = changes.begin(id, Way::WriteBack, range.clone()).await;
    for current in changes.without_outdated(id, range) {
        let from = (current.start - write.offset) as usize;
        let to = (current.end - write.offset) as usize;
        let part = Write {
            offset: current.start,
            data: write.data.slice(from..to),
            ..write.clone()
        };
        call.on_open_file(write.handle, pin!(write_data(call, part)))
            .await?;
    }
    Ok(Answer::Written(write.data.len() as u32))
}

/// A write of a file opened with `O_APPEND` goes to the end that its home knows; the kernel's
/// offset may be old. Data of a shared mapping has its place.
const fn appends(write: &Write) -> bool {
    write.flags & libc::O_APPEND as u32 != 0 && !write.from_cache
}

const fn span(offset: u64, bytes: u64) -> Range<u64> {
    offset..offset.saturating_add(bytes)
}

/// Returns what was written.
async fn write_data(call: &Call, write: Write) -> Result<Range<u64>, Errno> {
    let bytes = write.data.len() as u64;
    let (client, id) = (&call.client, call.file);
    let (appends, mut offset) = (appends(&write), write.offset);
    let end = if appends {
        u64::MAX
    } else {
        offset.saturating_add(bytes)
    };
    take_part(call, id, end).await?;
    let drops_set_id = write.kill_suidgid && client.may_be_set_id(id);
    let data = Payload::within(write.data, REQUEST_BUFFER_BYTES);
    call.shared.unsynchronized.written(id, write.handle);
    if appends {
        offset = client.append(id, data, write.kill_suidgid).await?;
    } else {
        client.write(id, offset, data, write.kill_suidgid).await?;
    }
    if write.flags & libc::O_DSYNC as u32 != 0 {
        synchronize_file(&call.shared, client, id).await;
        (call.shared.unsynchronized).take_lost(id, write.handle)?;
    }
    if drops_set_id {
        // The kernel keeps the mode, by which it would start programs.
        call.shared.known_nodes.changed(id.0);
    }
    Ok(span(offset, bytes))
}

/// Takes set-user-id and set-group-id bits away before others than root change a file's data. For
/// writes and changes of size the kernel says whether these bits go.
async fn drop_set_id(call: &Call, id: FileId) -> Result<(), Errno> {
    if call.credentials().is_root() || !call.client.may_be_set_id(id) {
        return Ok(());
    }
    let change = AttributeChange {
        kill_privileges: true,
        ..AttributeChange::default()
    };
    call.client.set_attributes(id, change).await?;
    call.shared.known_nodes.changed(id.0);
    Ok(())
}

/// Has the client send what it keeps of the file.
pub async fn synchronize(call: &Call, handle: u64) -> Outcome {
    synchronize_file(&call.shared, &call.client, call.file).await;
    call.shared.unsynchronized.take_lost(call.file, handle)?;
    Ok(Answer::Done)
}

/// As above for all files. A loss is reported to the writer of the lost data.
pub async fn synchronize_all(call: &Call) -> Outcome {
    for file in call.shared.unsynchronized.files() {
        synchronize_file(&call.shared, &call.client, file).await;
    }
    Ok(Answer::Done)
}

/// The same of one file.
pub async fn synchronize_file(shared: &Shared, client: &RecordedClient, id: FileId) {
    let files = &shared.unsynchronized;
    if files.has(id)
        && let Err(why) = client.synchronize(id).await
    {
        files.lost(id, why);
    }
}

pub async fn allocate(call: &Call, range: &Fallocate) -> Outcome {
    const PUNCH: u32 = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u32;
    const ZERO: u32 = libc::FALLOC_FL_ZERO_RANGE as u32;
    const KEEP_SIZE: u32 = libc::FALLOC_FL_KEEP_SIZE as u32;
    let keep_size = range.mode & KEEP_SIZE != 0;
    let mode = match range.mode {
        0 | KEEP_SIZE => AllocateMode::Allocate { keep_size },
        PUNCH => AllocateMode::PunchHole,
        _ if range.mode & !KEEP_SIZE == ZERO => AllocateMode::ZeroRange { keep_size },
        _ => return Err(Errno::EOPNOTSUPP),
    };
    let (client, id) = (&call.client, call.file);
    let changed = changed_bytes(mode, range);
    let change = (call.shared.direct_changes).begin(id, Way::Direct, changed.clone());
    let change = change.await;
    let allocate = pin!(async {
        take_part(call, id, range.offset.saturating_add(range.length)).await?;
        drop_set_id(call, id).await?;
        client.allocate(id, mode, range.offset, range.length).await
    });
    call.on_open_file(range.handle, allocate).await?;
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
    let may_change = span(target_offset, length);
    let change = (call.shared.direct_changes).begin(target, Way::Direct, may_change.clone());
    let change = change.await;
    let to_target = pin!(async {
        take_part(call, target, may_change.end).await?;
        drop_set_id(call, target).await?;
        (call.client)
            .copy_range(call.file, copy.offset, target, target_offset, length)
            .await
    });
    let to_target = pin!(call.on_open_file(copy.target_handle, to_target));
    let copied = call.on_open_file(copy.handle, to_target).await?;
    change.made(span(target_offset, copied));
    pages::changed(call, target).await;
    Ok(Answer::Copied(copied))
}
