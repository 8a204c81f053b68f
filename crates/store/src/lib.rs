//! The stores of a server's records and data: volatile memory, and memory with a log on disk.

mod available;
mod log;
mod memory;
mod records;
mod server_store;

pub use available::available_memory_bytes;
pub use log::{Identity, LogConfig, LogError};
pub use memory::MemoryStore;
pub use server_store::{Recovered, ServerStore};
