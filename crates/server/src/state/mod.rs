//! What the records mean, and how they change together: files, directories, chunks and locks.

pub mod bucket;
mod chunks;
mod directory;
pub mod file;
mod locks;
pub mod size;
