//! Attributes of files and of the file system.

use super::{directories, pages};
use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::gone_directories;
use crate::translate::change;
use futago_base::{Attributes, Errno, Kind, limits};
use futago_files::stat::Usage;
use futago_fuse_kernel::{FileSystemUsage, SetAttributes};
use futago_wire::AttributeChange;
use std::pin::pin;

/// The kernel asks for callers, and `for_read`, by an open file, when it is about to read.
pub async fn get(call: &Call, for_read: bool) -> Outcome {
    let attributes = ask(call, for_read).await?;
    let valid = call.attributes_valid(&attributes);
    Ok(Answer::Attributes(attributes, valid))
}

pub async fn statx(call: &Call) -> Outcome {
    let attributes = ask(call, false).await?;
    let valid = call.attributes_valid(&attributes);
    Ok(Answer::Statx(attributes, valid))
}

async fn ask(call: &Call, for_read: bool) -> Result<Attributes, Errno> {
    let state = match call.client.attributes(call.file).await {
        Err(Errno::ESTALE) => {
            let unchanged = AttributeChange::default();
            return Box::pin(gone_directories::attributes(call, &unchanged)).await;
        }
        state => state?,
    };
    if state.attributes.kind == Kind::Directory {
        call.shared.gone_directories.see(&state.attributes);
        directories::settle(call).await;
        return Ok(state.attributes);
    }
    pages::settle(call, state.attributes, for_read).await
}

pub async fn set(call: &Call, set: &SetAttributes) -> Outcome {
    let attributes = change_attributes(call, set).await?;
    if set.size.is_some() {
        pages::cut(call, call.file);
    }
    let valid = call.attributes_valid(&attributes);
    Ok(Answer::Attributes(attributes, valid))
}

async fn change_attributes(call: &Call, set: &SetAttributes) -> Result<Attributes, Errno> {
    let change = change(set);
    let changing = pin!(call.client.set_attributes(call.file, change));
    let changed = match set.handle {
        Some(handle) => call.on_open_file(handle, changing).await,
        None => changing.await,
    };
    match changed {
        Err(Errno::ESTALE) => Box::pin(gone_directories::attributes(call, &change)).await,
        state => Ok(state?.attributes),
    }
}

pub async fn usage(call: &Call) -> Outcome {
    let usage = Usage::of(&call.client.space().await?);
    Ok(Answer::Usage(FileSystemUsage {
        blocks: usage.blocks,
        blocks_free: usage.blocks_free,
        blocks_available: usage.blocks_free,
        files: usage.files,
        files_free: usage.files_free,
        block_size: usage.block_bytes,
        name_length: limits::NAME_BYTES as u32,
    }))
}
