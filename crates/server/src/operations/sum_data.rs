//! Sums the data of a file on this server.

use super::chunks::check_chunk_bytes;
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, View, record::Truncations};
use futago_wire::Reply;

/// A server at which the file is not admitted has no data of it.
pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    file: FileId,
    size: u64,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    let bytes = builder.data_bytes(file, size, chunk_bytes, truncations);
    Ok(Reply::Number(bytes).into())
}
