//! The meaning of the records, and how they change together: files, directories, chunks and locks.

mod appends;
pub mod bucket;
mod chunks;
mod directory;
pub mod file;
mod locks;
pub mod size;
