//! Operating-system processes that run a model together.

mod in_process;
#[cfg(feature = "mpi")]
mod mpi;

pub use in_process::{InProcess, in_process};
#[cfg(feature = "mpi")]
pub use mpi::MpiRanks;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Error;

/// The ranks of a run, from the view of one of them.
///
/// Executors need a single collective operation. It is called by one thread of each rank, the
/// one that called [`run_on`](crate::run_on).
pub trait Ranks {
    /// The number of this rank.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn count(&self) -> u32;

    /// Sends `outgoing[r]` to every rank *r*, and returns the messages from each. All ranks must
    /// call this; it returns when all have.
    ///
    /// # Errors
    ///
    /// If another rank has ended.
    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error>;
}

/// The only rank.
#[derive(Debug)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> u32 {
        0
    }

    fn count(&self) -> u32 {
        1
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        Ok(outgoing)
    }
}

/// Sends `value` to every rank, and returns those of all ranks.
///
/// # Errors
///
/// If another rank has ended, or the value cannot be encoded.
pub fn share<T: Serialize + DeserializeOwned>(
    ranks: &mut dyn Ranks,
    value: &T,
) -> Result<Vec<T>, Error> {
    let bytes = encode(value, Vec::new())?;
    let incoming = ranks.exchange(vec![bytes; ranks.count() as usize])?;
    incoming
        .iter()
        .map(|bytes| decode(bytes).map(|(value, _)| value))
        .collect()
}

/// Appends the encoded value to `bytes`.
pub(crate) fn encode<T: Serialize>(value: &T, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    postcard::to_extend(value, bytes)
        .map_err(|error| Error::Ranks(format!("cannot encode a message: {error}")))
}

/// The value at the beginning of `bytes`, and the bytes after it.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Error> {
    postcard::take_from_bytes(bytes)
        .map_err(|error| Error::Ranks(format!("cannot decode a message: {error}")))
}
