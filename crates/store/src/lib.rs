//! The store of a server's records and data, which is volatile memory.

mod available;
mod memory;
mod records;

pub use available::available_memory_bytes;
pub use memory::MemoryStore;
