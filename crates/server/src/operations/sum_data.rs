//! Adds up the data of a file that this server has.

use super::chunks::check_chunk_bytes;
use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{FileId, View, record::Truncations};
use futago_wire::Reply;

/// A server that has not been told of the file has nothing of it.
pub fn run<V: View>(
    turn: &Turn<'_, V>,
    file: FileId,
    size: u64,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    let bytes = turn.data_bytes(file, size, chunk_bytes, truncations);
    Ok(Reply::Number(bytes).into())
}
