//! The data of open files.

use crate::{OpenFile, Operations};
use core::{mem, ops::Range, pin::pin};
use futago_base::{Errno, Payload};
use futago_client::AllocateMode;
use futago_wire::AttributeChange;

/// The offset of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOffset {
    /// This offset, in bytes.
    At(u64),
    /// The end of the file that its home knows, as with `O_APPEND`.
    End,
}

/// A write to an open file.
#[derive(Clone, Debug)]
pub struct FileWrite {
    /// Where to write.
    pub offset: WriteOffset,
    /// The bytes.
    pub data: Payload,
    /// Clears set-user-id, and set-group-id of a group-executable file, because the caller may not
    /// retain them.
    pub kill_privileges: bool,
    /// Whether the data is to be on its servers when the write returns, as with `O_DSYNC`.
    pub is_synchronous: bool,
}

impl FileWrite {
    /// The range that the write may change.
    pub fn may_change(&self) -> Range<u64> {
        match self.offset {
            WriteOffset::At(offset) => offset..offset.saturating_add(self.data.len() as u64),
            WriteOffset::End => 0..u64::MAX,
        }
    }
}

/// A range of one open file that is copied into another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRange {
    /// Where the range begins, in bytes.
    pub source_offset: u64,
    /// Where the copy begins, in bytes.
    pub target_offset: u64,
    /// The length in bytes.
    pub length: u64,
    /// As of [`FileWrite`].
    pub kill_privileges: bool,
}

/// The mode that the flags of `fallocate` ask for; `None` if there is none.
pub const fn allocate_mode(flags: u32) -> Option<AllocateMode> {
    const KEEP_SIZE: u32 = 0x1;
    const PUNCH_HOLE: u32 = 0x2;
    const ZERO_RANGE: u32 = 0x10;
    let keep_size = flags & KEEP_SIZE != 0;
    match (flags & !KEEP_SIZE, keep_size) {
        (0, _) => Some(AllocateMode::Allocate { keep_size }),
        (PUNCH_HOLE, true) => Some(AllocateMode::PunchHole),
        (ZERO_RANGE, _) => Some(AllocateMode::ZeroRange { keep_size }),
        _ => None,
    }
}

impl OpenFile {
    /// Reads up to `length` bytes; fewer only at the end of the file.
    ///
    /// # Errors
    /// `ESTALE` if the session has ended; `EIO`.
    pub async fn read(
        &self,
        client: &impl Operations,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let read = pin!(client.read(self.id(), offset, length));
        self.run(client, read).await
    }

    /// Writes, and returns the written range.
    ///
    /// # Errors
    /// `ESTALE` if the session has ended; `EFBIG`, `ENOSPC`, `EIO`, after which some of the data
    /// may be written; of a synchronous write also those of [`OpenFile::synchronize`].
    pub async fn write(
        &self,
        client: &impl Operations,
        mut write: FileWrite,
    ) -> Result<Range<u64>, Errno> {
        let writing = pin!(self.write_data(client, &mut write));
        self.run(client, writing).await
    }

    /// Takes the data out of `write`: as an argument, the write would be in two futures.
    async fn write_data(
        &self,
        client: &impl Operations,
        write: &mut FileWrite,
    ) -> Result<Range<u64>, Errno> {
        let bytes = write.data.len() as u64;
        self.register(client, write.may_change().end).await?;
        self.begin_to_write();
        let data = mem::replace(&mut write.data, Payload::empty());
        let (id, kill_privileges) = (self.id(), write.kill_privileges);
        let begin = match write.offset {
            WriteOffset::At(offset) => {
                client.write(id, offset, data, kill_privileges).await?;
                offset
            }
            WriteOffset::End => client.append(id, data, kill_privileges).await?,
        };
        if write.is_synchronous {
            self.synchronize(client).await?;
        }
        Ok(begin..begin.saturating_add(bytes))
    }

    /// Registers the file as open with its home before its data is changed up to `end`: writes
    /// beyond the first chunk may run ahead of the size, which servers allow to those that are
    /// known to have the file open.
    async fn register(&self, client: &impl Operations, end: u64) -> Result<(), Errno> {
        let core = client.core();
        if end <= core.chunk_bytes(self.id()).await?.into() {
            return Ok(());
        }
        core.register_opens(self.id()).await
    }

    /// The operation of `fallocate`.
    ///
    /// # Errors
    /// As [`OpenFile::write`].
    pub async fn allocate(
        &self,
        client: &impl Operations,
        mode: AllocateMode,
        range: Range<u64>,
        kill_privileges: bool,
    ) -> Result<(), Errno> {
        let allocate = pin!(async {
            self.prepare_change(client, range.end, kill_privileges)
                .await?;
            let length = range.end - range.start;
            let core = client.core();
            core.allocate(self.id(), mode, range.start, length).await
        });
        self.run(client, allocate).await
    }

    /// Copies a range into another open file, which may be the same. Returns the number of copied
    /// bytes, which is lower at the end of the file.
    ///
    /// # Errors
    /// As [`OpenFile::write`].
    pub async fn copy_range(
        &self,
        client: &impl Operations,
        target: &Self,
        range: CopyRange,
    ) -> Result<u64, Errno> {
        let CopyRange {
            source_offset,
            target_offset,
            length,
            kill_privileges,
        } = range;
        let to_target = pin!(async {
            let end = target_offset.saturating_add(length);
            target.prepare_change(client, end, kill_privileges).await?;
            client
                .copy_range(self.id(), source_offset, target.id(), target_offset, length)
                .await
        });
        let to_target = pin!(target.run(client, to_target));
        self.run(client, to_target).await
    }

    /// Before a change by a request that does not clear set-user-id itself.
    async fn prepare_change(
        &self,
        client: &impl Operations,
        end: u64,
        kill_privileges: bool,
    ) -> Result<(), Errno> {
        self.register(client, end).await?;
        if !kill_privileges || !client.core().may_be_set_id(self.id()) {
            return Ok(());
        }
        let change = AttributeChange {
            kill_privileges: true,
            ..AttributeChange::default()
        };
        client.set_attributes(self.id(), change).await.map(drop)
    }
}
