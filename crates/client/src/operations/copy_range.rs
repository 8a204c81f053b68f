//! Copies within and between files.

use crate::{Client, Context};
use futago_base::{Errno, FileId, limits};

/// How much is on its way through the client at once.
const STEP_BYTES: u64 = 4 << 20;

impl<C: Context> Client<C> {
    /// Copies up to `length` bytes and returns how many; fewer only at the end of the source.
    /// Errors: `EINVAL` if the ranges overlap
    /// within one file, `EFBIG`.
    pub async fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> Result<u64, Errno> {
        let distance = source_offset.abs_diff(target_offset);
        if source == target && distance < length {
            return Err(Errno::EINVAL);
        }
        let room = limits::FILE_BYTES.checked_sub(target_offset);
        let length = length.min(room.ok_or(Errno::EFBIG)?);
        // What is copied may grow the source if it is the target too.
        let size = self.persist(|| self.extent(source)).await?.size;
        let length = length.min(size.saturating_sub(source_offset));
        let mut copied = 0;
        while copied < length {
            let step = (length - copied).min(STEP_BYTES) as u32;
            let data = match self.read(source, source_offset + copied, step).await {
                Ok(data) if data.is_empty() => break,
                Ok(data) => data,
                Err(errno) => return partial(copied, errno),
            };
            let read = data.len() as u64;
            let written = self.write(target, target_offset + copied, data, false);
            if let Err(errno) = written.await {
                return partial(copied, errno);
            }
            copied += read;
        }
        Ok(copied)
    }
}

/// What was copied counts; the error shows again when the caller goes on.
const fn partial(copied: u64, errno: Errno) -> Result<u64, Errno> {
    if copied > 0 { Ok(copied) } else { Err(errno) }
}
