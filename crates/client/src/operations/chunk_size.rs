//! The chunk size as an extended attribute, `user.futago.chunk_size`. A directory passes its own on
//! to new files and directories; that of a file never changes. Lists of attributes leave it out, so
//! that programs that copy attributes do not try to set it.

use crate::{Client, Context, XattrMode};
use alloc::string::ToString;
use bytes::Bytes;
use futago_base::{Errno, FileId, Kind, limits};
use futago_wire::AttributeChange;

impl<C: Context> Client<C> {
    /// The chunk size of a file, or of new files in a directory. Errors: `ENODATA` if it has none.
    pub(super) async fn chunk_size(&self, id: FileId) -> Result<Bytes, Errno> {
        match self.attributes(id).await?.attributes.chunk_bytes {
            0 => Err(Errno::ENODATA),
            bytes => Ok(bytes.to_string().into_bytes().into()),
        }
    }

    /// Sets the chunk size of new files in a directory; 0 for that of the cluster. Errors: `EINVAL`
    /// for a value that is no chunk size, `ENOTDIR`; `EEXIST`, `ENODATA` as `mode` requires.
    pub(super) async fn set_chunk_size(
        &self,
        id: FileId,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<(), Errno> {
        let bytes = parse(value).ok_or(Errno::EINVAL)?;
        let present = self.attributes(id).await?.attributes;
        match (present.chunk_bytes, mode) {
            _ if present.kind != Kind::Directory => return Err(Errno::ENOTDIR),
            (0, XattrMode::Replace) => return Err(Errno::ENODATA),
            (1.., XattrMode::Create) => return Err(Errno::EEXIST),
            _ => {}
        }
        let change = AttributeChange {
            chunk_bytes: Some(bytes),
            ..AttributeChange::default()
        };
        self.set_attributes(id, change).await.map(drop)
    }
}

/// The value as decimal digits: 0, or a power of two that is a chunk size.
fn parse(value: &[u8]) -> Option<u32> {
    let bytes: u32 = core::str::from_utf8(value).ok()?.parse().ok()?;
    let allowed = limits::CHUNK_BYTES_MIN..=limits::CHUNK_BYTES_MAX;
    let is_chunk_size = bytes.is_power_of_two() && allowed.contains(&bytes);
    (bytes == 0 || is_chunk_size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_powers_of_two_within_the_limits() {
        for (value, bytes) in [("0", 0), ("4096", 4096), ("4194304", 4 << 20)] {
            assert_eq!(parse(value.as_bytes()), Some(bytes));
        }
        for wrong in [
            "",
            "64k",
            "5000",
            "2048",
            "8388608",
            "-4096",
            "4096 ",
            "99999999999",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
