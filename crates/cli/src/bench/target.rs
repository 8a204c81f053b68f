//! What a benchmark needs of a file system. Paths are relative to the target.

use std::sync::Arc;

/// A file system under measurement; used by several threads at once.
pub trait FileSystem: Send + Sync {
    /// Makes a directory; one that is there is as good.
    fn make_directory(&self, path: &str) -> anyhow::Result<()>;
    /// Makes a file with these contents, and closes it.
    fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()>;
    /// The size of a regular file.
    fn size(&self, path: &str) -> anyhow::Result<u64>;
    /// All of a small file, opened and closed for it.
    fn read(&self, path: &str, length: u32) -> anyhow::Result<Vec<u8>>;
    /// Removes a file.
    fn unlink(&self, path: &str) -> anyhow::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &str) -> anyhow::Result<()>;
    /// Opens a large file; makes it if `write`.
    fn open(&self, path: &str, write: bool) -> anyhow::Result<Arc<dyn File>>;
}

/// An open file.
pub trait File: Send + Sync {
    /// Writes all of it.
    fn write_at(&self, offset: u64, data: Vec<u8>) -> anyhow::Result<()>;
    /// Reads; fewer bytes only at the end of the file.
    fn read_at(&self, offset: u64, length: u32) -> anyhow::Result<Vec<u8>>;
    /// Brings what was written to where it shall be.
    fn flush(&self) -> anyhow::Result<()>;
}
