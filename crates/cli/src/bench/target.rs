//! The operations that a benchmark needs of a file system. Paths are relative to the target.

use super::perform::{Measured, Part};
use anyhow::bail;
use bytes::Bytes;
use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// A file system under measurement.
pub trait FileSystem {
    /// Makes a directory; one that is there is as good.
    fn make_directory(&self, path: &str) -> anyhow::Result<()>;
    /// Removes a file.
    fn unlink(&self, path: &str) -> anyhow::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &str) -> anyhow::Result<()>;
    /// Has the operating system drop what it keeps of a file's data.
    fn drop_pages(&self, path: &str) -> anyhow::Result<()>;
    /// Does a client's part of a phase, with so many operations under way at a time.
    fn perform(&self, part: &Part<'_>, in_flight: u32) -> Measured;
}

/// A client of the file system that is measured.
pub trait Session {
    /// An open file.
    type File;
    /// Makes a file with these contents, and closes it.
    async fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()>;
    /// The size of a regular file.
    async fn size(&self, path: &str) -> anyhow::Result<u64>;
    /// All of a small file, opened and closed for it.
    async fn read(&self, path: &str, length: u32) -> anyhow::Result<Bytes>;
    /// Removes a file.
    async fn unlink(&self, path: &str) -> anyhow::Result<()>;
    /// Opens a large file; makes it if `write`.
    async fn open(&self, path: &str, write: bool) -> anyhow::Result<Self::File>;
    /// Writes all of it.
    async fn write_at(&self, file: &Self::File, offset: u64, data: Bytes) -> anyhow::Result<()>;
    /// Reads; fewer bytes only at the end of the file.
    async fn read_at(&self, file: &Self::File, offset: u64, length: u32) -> anyhow::Result<Bytes>;
    /// Brings what was written to where it shall be.
    async fn flush(&self, file: &Self::File) -> anyhow::Result<()>;
    /// Closes a file.
    async fn close(&self, file: Self::File) -> anyhow::Result<()>;
    /// Searches a rank's share of a tree, and returns how many files of it are wanted. The shares
    /// of all ranks are the tree.
    async fn find(&self, root: &str, wanted: &Wanted<'_>) -> anyhow::Result<u64>;
}

/// The files that a search counts, and the share of the rank that searches.
pub struct Wanted<'a> {
    /// A part of the name.
    pub name_part: &'a str,
    /// The size, in bytes.
    pub size_bytes: u64,
    /// The path of a file that is older.
    pub newer_than: &'a str,
    /// The number of the rank.
    pub rank: u32,
    /// How many ranks search.
    pub ranks: u32,
}

/// Runs what waits for nothing but calls that block its thread.
pub fn block<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => bail!("a blocking call did not block"),
    }
}
