//! The files of a store: how they are named, made, written and synchronized.

use crate::{
    StoreError,
    directory::Directory,
    head::{FileKind, HEAD_BYTES, Head},
    last_use,
    reserve::Reserve,
};
use bytes::Bytes;
use std::{
    collections::BTreeSet,
    io::{self, IoSlice},
    path::PathBuf,
    sync::Arc,
};

/// The files of a store.
#[derive(Debug)]
pub struct Files {
    directory: Arc<dyn Directory>,
    reserve: Reserve,
    unsynced: Unsynced,
}

/// The changes that a loss of power may undo.
#[derive(Debug, Default)]
pub struct Unsynced {
    /// Whether that is everything.
    pub all: bool,
    /// The files that were written.
    pub written: BTreeSet<String>,
    /// Whether there are new names.
    pub has_new_names: bool,
}

/// The name of a file with a number.
pub fn name(kind: FileKind, number: u64) -> String {
    format!("{number:020}.{}", suffix(kind))
}

const fn suffix(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Log => "log",
        FileKind::Data => "data",
    }
}

/// The number of the file of a kind that has this name.
fn number(name: &str, kind: FileKind) -> Option<u64> {
    let (number, end) = name.split_once('.')?;
    (end == suffix(kind)).then(|| number.parse().ok())?
}

impl Files {
    /// The files in a directory.
    ///
    /// # Errors
    /// If the disk does not say how large it is.
    pub fn new(directory: Arc<dyn Directory>) -> Result<Self, StoreError> {
        let place = directory.path("");
        let reserve = Reserve::new(Arc::clone(&directory));
        Ok(Self {
            reserve: reserve.map_err(StoreError::io("asking for the room in", place))?,
            directory,
            unsynced: Unsynced {
                all: true,
                ..Unsynced::default()
            },
        })
    }

    /// The directory.
    pub const fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// The room of the disk.
    pub const fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// The room of the disk.
    pub const fn reserve_mut(&mut self) -> &mut Reserve {
        &mut self.reserve
    }

    /// The path of a file, for messages.
    pub fn path(&self, kind: FileKind, number: u64) -> PathBuf {
        self.directory.path(&name(kind, number))
    }

    /// The numbers of the files of a kind, in order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self, kind: FileKind) -> Result<Vec<u64>, StoreError> {
        let error = StoreError::io("reading", self.directory.path(""));
        let names = self.directory.list().map_err(error)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| number(name, kind)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The size of a file, in bytes.
    ///
    /// # Errors
    /// If the system does not say it.
    pub fn size(&self, kind: FileKind, number: u64) -> Result<u64, StoreError> {
        let size = self.directory.size(&name(kind, number));
        size.map_err(StoreError::io("reading", self.path(kind, number)))
    }

    /// All bytes of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, kind: FileKind, number: u64) -> Result<Vec<u8>, StoreError> {
        let size = self.size(kind, number)?;
        self.read_first(kind, number, size as usize)
    }

    fn read_first(
        &self,
        kind: FileKind,
        number: u64,
        length: usize,
    ) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length];
        let read = self.directory.read(&name(kind, number), &mut bytes, 0);
        read.map_err(StoreError::io("reading", self.path(kind, number)))?;
        Ok(bytes)
    }

    /// The head of a file; `None` if it was never written whole.
    ///
    /// # Errors
    /// If it cannot be read, or is no head of this kind.
    pub fn head(&self, kind: FileKind, number: u64) -> Result<Option<Head>, StoreError> {
        let length = self.size(kind, number)?.min(HEAD_BYTES as u64) as usize;
        let bytes = self.read_first(kind, number, length)?;
        Head::decode(kind, &bytes, &self.path(kind, number))
    }

    /// Makes a file with a head.
    ///
    /// # Errors
    /// If the system refuses to.
    pub fn create(&mut self, kind: FileKind, head: &Head) -> Result<(), StoreError> {
        let name = name(kind, head.number);
        let bytes = head.encode(kind);
        let directory = &self.directory;
        let made = self.reserve.retry(|| directory.create(&name, &bytes));
        made.map_err(StoreError::io("making", directory.path(&name)))?;
        self.unsynced.has_new_names = true;
        self.unsynced.written.insert(name);
        Ok(())
    }

    /// Appends all pieces, as many as the system takes at a time.
    ///
    /// # Errors
    /// If the system refuses to.
    pub fn append(
        &mut self,
        kind: FileKind,
        number: u64,
        pieces: &[Bytes],
    ) -> Result<(), StoreError> {
        let name = name(kind, number);
        let appended = self.append_to(&name, pieces);
        appended.map_err(StoreError::io("writing to", self.directory.path(&name)))?;
        self.unsynced.written.insert(name);
        Ok(())
    }

    fn append_to(&mut self, name: &str, pieces: &[Bytes]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0);
        let directory = &self.directory;
        while !rest.is_empty() {
            match self.reserve.retry(|| directory.append(name, rest)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all files of a kind again: they may show what the disk does not have.
    ///
    /// # Errors
    /// If they cannot be read or written.
    pub fn write_again(&self, kind: FileKind) -> Result<(), StoreError> {
        for number in self.list(kind)? {
            let bytes = self.read(kind, number)?;
            let written = self.directory.overwrite(&name(kind, number), &bytes, 0);
            written.map_err(StoreError::io("writing again", self.path(kind, number)))?;
        }
        Ok(())
    }

    /// Cuts a file off.
    ///
    /// # Errors
    /// If the system refuses to.
    pub fn truncate(&mut self, kind: FileKind, number: u64, bytes: u64) -> Result<(), StoreError> {
        let name = name(kind, number);
        let cut = self.directory.truncate(&name, bytes);
        cut.map_err(StoreError::io("cutting off", self.directory.path(&name)))?;
        self.unsynced.written.insert(name);
        Ok(())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If the system refuses to.
    pub fn remove(&mut self, kind: FileKind, number: u64) -> Result<(), StoreError> {
        let name = name(kind, number);
        let removed = self.directory.remove(&name);
        removed.map_err(StoreError::io("removing", self.directory.path(&name)))?;
        self.unsynced.written.remove(&name);
        self.unsynced.has_new_names = true;
        Ok(())
    }

    /// Synchronizes a new file.
    ///
    /// # Errors
    /// If the system fails to.
    pub fn synchronize(&self, kind: FileKind, number: u64) -> Result<(), StoreError> {
        let (directory, name) = (&self.directory, name(kind, number));
        let synchronized = directory.sync(&name).and_then(|()| directory.sync_names());
        let synchronized = synchronized.inspect_err(|_| last_use::doubt(&**directory));
        synchronized.map_err(StoreError::io("synchronizing", directory.path(&name)))
    }

    /// Nobody knows what of the files is synchronized.
    pub const fn doubt(&mut self) {
        self.unsynced.all = true;
    }

    /// Takes what is to be synchronized.
    pub fn take_unsynced(&mut self) -> Unsynced {
        std::mem::take(&mut self.unsynced)
    }
}
