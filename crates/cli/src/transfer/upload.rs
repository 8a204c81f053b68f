//! Copies local trees into a cluster.

use super::{BUFFER_BYTES, Transfer, local};
use crate::connection::Connection;
use anyhow::{Context, bail};
use futago_base::{FileId, Name};
use futago_wire::{AttributeChange, SetTime};
use rustix::{
    event::{PollFd, PollFlags},
    fs::SeekFrom,
};
use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    hash::{BuildHasher, RandomState},
    io::Read,
    os::{
        fd::AsFd,
        unix::{
            ffi::OsStrExt,
            fs::{FileExt, MetadataExt},
        },
    },
    path::Path,
};

/// A running copy into a cluster.
pub struct Upload<'a> {
    connection: &'a Connection,
    /// The running copy as a whole.
    pub transfer: &'a mut Transfer,
    /// Copies of files that have several names, by device and inode of the original.
    linked: HashMap<(u64, u64), FileId>,
}

/// A name in a directory of the cluster.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The directory that gets the name.
    pub directory: FileId,
    /// The name.
    pub name: &'a Name,
}

impl<'a> Upload<'a> {
    /// A copy that has not begun.
    pub fn new(connection: &'a Connection, transfer: &'a mut Transfer) -> Self {
        Self {
            connection,
            transfer,
            linked: HashMap::new(),
        }
    }

    /// Copies a file, or a directory with everything in it. `metadata` describe `source` itself, or
    /// the target of a symbolic link that is followed.
    ///
    /// # Errors
    /// Name the file. A failed entry of a directory is reported and does not stop the others.
    pub fn put(&mut self, source: &Path, metadata: &Metadata, to: Place<'_>) -> anyhow::Result<()> {
        self.transfer.ensure_uninterrupted()?;
        let kind = metadata.file_type();
        let put = if kind.is_dir() {
            self.put_directory(source, metadata, to)
        } else if kind.is_symlink() {
            self.put_symlink(source, metadata, to)
        } else if kind.is_file() {
            self.put_file(source, metadata, to)
        } else {
            bail!(
                "{} is neither file, directory nor symbolic link and is not copied",
                source.display()
            );
        };
        put.with_context(|| format!("putting {}", source.display()))
    }

    /// Copies a stream to its end.
    ///
    /// # Errors
    /// If a read or a write fails.
    pub fn put_stream(
        &mut self,
        mut source: impl Read + AsFd,
        to: Place<'_>,
    ) -> anyhow::Result<()> {
        self.put_whole(to, |upload, id| {
            let mut offset = 0;
            loop {
                let data = upload.read_piece(&mut source)?;
                if data.is_empty() {
                    return Ok(());
                }
                offset = upload.write(id, offset, data)?;
            }
        })?;
        self.transfer.copied.files += 1;
        Ok(())
    }

    /// Reads [`BUFFER_BYTES`], or less at the end of the stream.
    fn read_piece(&self, source: &mut (impl Read + AsFd)) -> anyhow::Result<Vec<u8>> {
        let mut data = vec![0; BUFFER_BYTES as usize];
        let mut length = 0;
        while length < data.len() {
            self.wait_readable(source)?;
            match source.read(&mut data[length..])? {
                0 => break,
                read => length += read,
            }
        }
        data.truncate(length);
        Ok(data)
    }

    /// Waits for input. A signal ends the wait, while a read would go on.
    fn wait_readable(&self, source: &impl AsFd) -> anyhow::Result<()> {
        loop {
            self.transfer.ensure_uninterrupted()?;
            let mut input = [PollFd::new(source, PollFlags::IN)];
            match rustix::event::poll(&mut input, None) {
                Err(rustix::io::Errno::INTR) => {}
                polled => return Ok(polled.map(drop)?),
            }
        }
    }

    fn put_directory(
        &mut self,
        source: &Path,
        metadata: &Metadata,
        to: Place<'_>,
    ) -> anyhow::Result<()> {
        let mode = (metadata.mode() & 0o7777) as u16;
        let id = self
            .connection
            .make_directory(to.directory, to.name, mode)?;
        self.transfer.copied.directories += 1;
        for entry in fs::read_dir(source)? {
            let put = entry.map_err(Into::into).and_then(|entry| {
                let name = &Name::new(entry.file_name().as_bytes().to_vec())?;
                let (path, directory) = (entry.path(), id);
                let metadata = fs::symlink_metadata(&path)?;
                self.put(&path, &metadata, Place { directory, name })
            });
            self.transfer.failures.go_on(put)?;
        }
        self.set_attributes(source, metadata, id)
    }

    fn put_symlink(
        &mut self,
        source: &Path,
        metadata: &Metadata,
        to: Place<'_>,
    ) -> anyhow::Result<()> {
        let target = fs::read_link(source)?;
        let connection = self.connection;
        let temporary = temporary_name()?;
        let link = connection.symlink(to.directory, &temporary, target.as_os_str().as_bytes())?;
        let set = self.set_attributes(source, metadata, link);
        self.give_name(&temporary, to, set)?;
        self.transfer.copied.symlinks += 1;
        Ok(())
    }

    fn put_file(
        &mut self,
        source: &Path,
        metadata: &Metadata,
        to: Place<'_>,
    ) -> anyhow::Result<()> {
        let node = (metadata.dev(), metadata.ino());
        if let Some(&id) = self.linked.get(&node) {
            self.put_further_name(id, to)?;
        } else {
            let file = File::open(source)?;
            let id = self.put_whole(to, |upload, id| {
                upload.copy_data(&file, metadata.len(), id)?;
                upload.set_attributes(source, metadata, id)
            })?;
            if metadata.nlink() > 1 {
                self.linked.insert(node, id);
            }
        }
        self.transfer.copied.files += 1;
        Ok(())
    }

    fn put_further_name(&self, id: FileId, to: Place<'_>) -> anyhow::Result<()> {
        // A rename to another name of the same file would leave the temporary name.
        if self.connection.find(to.directory, to.name)? == Some(id) {
            return Ok(());
        }
        let temporary = temporary_name()?;
        self.connection.link(id, to.directory, &temporary)?;
        self.give_name(&temporary, to, Ok(()))
    }

    /// Fills a file under a temporary name, then renames it.
    fn put_whole(
        &mut self,
        to: Place<'_>,
        fill: impl FnOnce(&mut Self, FileId) -> anyhow::Result<()>,
    ) -> anyhow::Result<FileId> {
        let temporary = temporary_name()?;
        let id = self.connection.create_file(to.directory, &temporary)?;
        let filled = fill(self, id);
        self.give_name(&temporary, to, filled)?;
        Ok(id)
    }

    /// Renames a complete file; removes an incomplete one.
    fn give_name(
        &self,
        temporary: &Name,
        to: Place<'_>,
        whole: anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let connection = self.connection;
        let named = whole.and_then(|()| connection.rename(to.directory, temporary, to.name));
        named.or_else(|error| {
            connection.remove_name(to.directory, temporary)?;
            Err(error)
        })
    }

    /// Copies data and leaves holes out.
    fn copy_data(&mut self, source: &File, length: u64, id: FileId) -> anyhow::Result<()> {
        let mut end = 0;
        while let Some(begin) = next_data(source, end)? {
            self.transfer.advance(begin - end);
            end = rustix::fs::seek(source, SeekFrom::Hole(begin))?;
            self.copy_range(source, begin, end, id)?;
        }
        self.transfer.advance(length.saturating_sub(end));
        let size = Some(length.max(end));
        let change = AttributeChange {
            size,
            ..AttributeChange::default()
        };
        self.connection.set_attributes(id, change)
    }

    fn copy_range(
        &mut self,
        source: &File,
        begin: u64,
        end: u64,
        id: FileId,
    ) -> anyhow::Result<()> {
        let mut offset = begin;
        while offset < end {
            let mut data = vec![0; BUFFER_BYTES.min(end - offset) as usize];
            let length = source.read_at(&mut data, offset)?;
            if length == 0 {
                // Another process truncated the file meanwhile.
                return Ok(());
            }
            data.truncate(length);
            offset = self.write(id, offset, data)?;
        }
        Ok(())
    }

    /// Writes and returns the offset behind the data.
    fn write(&mut self, id: FileId, offset: u64, data: Vec<u8>) -> anyhow::Result<u64> {
        self.transfer.ensure_uninterrupted()?;
        let length = data.len() as u64;
        self.connection.write(id, offset, data)?;
        self.transfer.copied.bytes += length;
        self.transfer.advance(length);
        Ok(offset + length)
    }

    fn set_attributes(&self, source: &Path, metadata: &Metadata, id: FileId) -> anyhow::Result<()> {
        let mut change = AttributeChange::default();
        if !metadata.is_symlink() {
            change.mode = Some((metadata.mode() & 0o7777) as u16);
        }
        if rustix::process::geteuid().is_root() {
            (change.uid, change.gid) = (Some(metadata.uid()), Some(metadata.gid()));
        }
        self.connection.set_attributes(id, change)?;
        if !metadata.is_symlink() {
            for (name, value) in local::xattrs(source)? {
                self.connection.set_xattr(id, &name, value)?;
            }
        }
        let change = AttributeChange {
            modified: Some(SetTime::To(local::modified(metadata))),
            ..AttributeChange::default()
        };
        self.connection.set_attributes(id, change)
    }
}

/// The offset of the next data at or behind `offset`.
fn next_data(file: &File, offset: u64) -> anyhow::Result<Option<u64>> {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(begin) => Ok(Some(begin)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A random name.
fn temporary_name() -> anyhow::Result<Name> {
    let drawn = RandomState::new().hash_one(std::process::id());
    Ok(Name::new(format!(".futago-put-{drawn:016x}").into_bytes())?)
}
