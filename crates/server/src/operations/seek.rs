//! Finds data and holes.

use super::chunks::check_chunk_bytes;
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{ChunkId, FileId, View, record::Truncations};
use futago_wire::Reply;

pub fn next_data<V: View>(
    builder: &DecisionBuilder<'_, V>,
    file: FileId,
    from: u64,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    builder.heard_if_admitted(file)?;
    let width = u64::from(chunk_bytes);
    let found = builder.chunks_here(file, from / width).find_map(|chunk| {
        let start = chunk.start(chunk_bytes);
        let valid = builder.valid_end(chunk, start, truncations);
        let first = from.saturating_sub(start) as u32;
        let data = builder.state.data(chunk)?.next_data(first)?;
        (data < valid).then_some(start.saturating_add(data.into()))
    });
    Ok(Reply::Offset(found).into())
}

pub fn next_hole<V: View>(
    builder: &DecisionBuilder<'_, V>,
    file: FileId,
    from: u64,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    builder.heard_if_admitted(file)?;
    let width = u64::from(chunk_bytes);
    let chunk = ChunkId {
        file,
        index: from / width,
    };
    let start = chunk.start(chunk_bytes);
    let first = (from - start) as u32;
    let hole = builder
        .state
        .data(chunk)
        .map_or(first, |extents| extents.next_hole(first));
    let valid = builder.valid_end(chunk, start, truncations);
    let hole = hole.min(valid.max(first)).min(chunk_bytes);
    let hole = start.saturating_add(hole.into());
    Ok(Reply::Offset(Some(hole)).into())
}
