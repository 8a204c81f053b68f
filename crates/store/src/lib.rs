//! Where a server's records and data are kept: in memory.

mod available;
mod memory;
mod records;

pub use available::available_memory_bytes;
pub use memory::MemoryStore;
