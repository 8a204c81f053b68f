//! Attributes of files and of the file system.

use super::{directories, pages};
use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::translate::change;
use futago_base::{Attributes, Errno, Kind, limits};
use futago_fuse_kernel::{FileSystemUsage, SetAttributes};
use std::pin::pin;

/// The unit in which space is told, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// What an empty file takes, roughly, for the number of files that there is room for.
const FILE_BYTES: u64 = 1024;

pub async fn get(call: &Call) -> Outcome {
    let attributes = ask(call).await?;
    let valid = call.attributes_valid(&attributes);
    Ok(Answer::Attributes(attributes, valid))
}

pub async fn statx(call: &Call) -> Outcome {
    let attributes = ask(call).await?;
    let valid = call.attributes_valid(&attributes);
    Ok(Answer::Statx(attributes, valid))
}

async fn ask(call: &Call) -> Result<Attributes, Errno> {
    let state = call.client.attributes(call.file).await?;
    if state.attributes.kind == Kind::Directory {
        directories::settle(call).await;
    } else if pages::settle(call, &state.attributes).await {
        let state = call.client.attributes(call.file).await?;
        return Ok(state.attributes);
    }
    Ok(state.attributes)
}

pub async fn set(call: &Call, set: &SetAttributes) -> Outcome {
    let change = pin!(call.client.set_attributes(call.file, change(set)));
    let state = match set.handle {
        Some(handle) => call.on_open_file(handle, change).await?,
        None => change.await?,
    };
    if set.size.is_some() {
        pages::cut(call, call.file);
    }
    let valid = call.attributes_valid(&state.attributes);
    Ok(Answer::Attributes(state.attributes, valid))
}

pub async fn usage(call: &Call) -> Outcome {
    let space = call.client.space().await?;
    let blocks_free = space.free_bytes() / u64::from(BLOCK_BYTES);
    let files_free = space.free_bytes() / FILE_BYTES;
    Ok(Answer::Usage(FileSystemUsage {
        blocks: space.limit_bytes / u64::from(BLOCK_BYTES),
        blocks_free,
        blocks_available: blocks_free,
        files: space.files + files_free,
        files_free,
        block_size: BLOCK_BYTES,
        name_length: limits::NAME_BYTES as u32,
    }))
}
