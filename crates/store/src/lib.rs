//! The stores of a server's records and data: volatile memory, and memory with a disk.

mod available;
mod data;
mod directory;
mod error;
mod files;
mod head;
mod last_use;
mod log;
mod memory;
mod records;
mod reserve;
mod server_store;
mod simulated;
mod synchronization;

pub use available::available_memory_bytes;
pub use directory::{Directory, Room, SystemDirectory};
pub use error::StoreError;
pub use head::Identity;
pub use memory::MemoryStore;
pub use server_store::{DataPlace, Recovered, ServerStore, StoreConfig, Sync};
pub use simulated::{Dropped, SimulatedDirectory};
pub use synchronization::Synchronization;
