//! The files of a store: how they are named, made, and written.

use crate::{
    StoreError,
    head::{FileKind, HEAD_BYTES, Head},
    reserve::Reserve,
};
use bytes::Bytes;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, IoSlice, Read, Write},
    path::{Path, PathBuf},
};

/// The path of a file with a number.
pub fn path(directory: &Path, kind: FileKind, number: u64) -> PathBuf {
    directory.join(format!("{number:020}.{}", suffix(kind)))
}

const fn suffix(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Log => "log",
        FileKind::Data => "data",
    }
}

/// The files of a kind in a directory, by number.
pub fn list(directory: &Path, kind: FileKind) -> Result<Vec<PathBuf>, StoreError> {
    let error = StoreError::io("reading", directory);
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let paths = entries.map_err(error)?.into_iter();
    let paths = paths.map(|entry| entry.path());
    let is_of_kind = |path: &PathBuf| path.extension().is_some_and(|end| end == suffix(kind));
    let mut files: Vec<PathBuf> = paths.filter(is_of_kind).collect();
    files.sort();
    Ok(files)
}

/// The head of a file; `None` if the file ends within it.
///
/// # Errors
/// If it cannot be read, or is no head of this kind.
pub fn head(path: &Path, kind: FileKind) -> Result<Option<Head>, StoreError> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    let opened = File::open(path);
    let read = opened.and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut bytes));
    read.map_err(StoreError::io("reading", path))?;
    Head::decode(kind, &bytes, path)
}

/// Makes a file with a head. If that fails, there is none.
pub fn create(
    directory: &Path,
    kind: FileKind,
    head: &Head,
    reserve: &mut Reserve,
) -> Result<File, StoreError> {
    let path = path(directory, kind, head.number);
    let head = head.encode(kind);
    let make = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let written = file.write_all(&head);
        written.inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok(file)
    };
    reserve.retry(make).map_err(StoreError::io("making", path))
}

/// Writes all pieces, as many as the system takes at a time.
pub fn write_all(file: &mut File, pieces: &[Bytes], reserve: &mut Reserve) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match reserve.retry(|| file.write_vectored(rest)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
