//! Directories, entry by entry.

use super::{FileSystem, os_error};
use futago_base::{Errno, Kind};
use futago_files::{DirectoryEntry, DirectoryStream};
use std::io;

/// An open directory. As an iterator it omits `.` and `..`, as the standard library does.
pub struct Directory {
    files: FileSystem,
    stream: DirectoryStream,
}

impl FileSystem {
    /// Opens a directory.
    ///
    /// # Errors
    /// Those of `opendir`.
    pub fn open_directory(&self, path: &[u8]) -> io::Result<Directory> {
        Ok(Directory {
            files: self.clone(),
            stream: self.directory_stream(path)?,
        })
    }

    /// Has the servers make the names in a directory survive a loss of power, as its `fsync` does.
    ///
    /// # Errors
    /// Those of `open` and `fsync`.
    pub fn synchronize_directory(&self, path: &[u8]) -> io::Result<()> {
        let id = self.metadata(path, true)?.id;
        self.run(async |client| client.core().make_durable(id).await)
    }

    /// The stream of a directory, for programs that name the client at each call.
    ///
    /// # Errors
    /// Those of `opendir`.
    pub fn directory_stream(&self, path: &[u8]) -> io::Result<DirectoryStream> {
        let found = self.metadata(path, true)?;
        match found.kind {
            Kind::Directory => Ok(DirectoryStream::new(found.id)),
            _ => Err(os_error(Errno::ENOTDIR)),
        }
    }

    /// The next entry of a stream, also `.` and `..`; `None` at the end.
    ///
    /// # Errors
    /// Those of `readdir`; `EINVAL` at a position that the stream has never returned.
    pub fn next_entry(&self, stream: &mut DirectoryStream) -> io::Result<Option<DirectoryEntry>> {
        self.run(async |client| stream.next(client).await)
    }
}

impl Directory {
    /// The next entry, also `.` and `..`; `None` at the end.
    ///
    /// # Errors
    /// Those of `readdir`; `EINVAL` at a position that this directory has never returned; `EIO` at
    /// the end if a server could not be reached, whose entries are missing.
    pub fn read(&mut self) -> io::Result<Option<DirectoryEntry>> {
        self.files.next_entry(&mut self.stream)
    }

    /// The position, as `telldir` returns it. It is valid as long as this directory is open.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.stream.position()
    }

    /// Continues at a position.
    pub fn seek(&mut self, position: u64) {
        self.stream.seek(position);
    }

    /// Continues at the first entry. Entries that were made meanwhile are listed.
    pub fn rewind(&mut self) {
        self.stream.seek(0);
    }
}

impl Iterator for Directory {
    type Item = io::Result<DirectoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read().transpose()? {
                Ok(entry) if entry.is_dots() => {}
                entry => return Some(entry),
            }
        }
    }
}
