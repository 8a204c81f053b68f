//! Values on a pipe: a length of four bytes, then the encoded value.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};

/// The longest value. A directory of a million names takes less.
const BYTES_MAX: u32 = 1 << 30;

/// Writes a value.
pub fn write(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a value; `None` at the end.
pub fn read<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > BYTES_MAX {
        return Err(io::Error::other("what arrives is no message of a client"));
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes)
        .map(Some)
        .map_err(io::Error::other)
}
