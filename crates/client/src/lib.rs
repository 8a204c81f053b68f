//! The decisions of a client: file system operations as asynchronous functions over a [`Context`].
//!
//! An operation uses only the context: it calls servers, sleeps, and joins futures in a fixed
//! order. This crate has no runtime, clock, socket or random source. So the same code runs in a
//! real client and in a simulated one.
#![no_std]

extern crate alloc;

mod block_cache;
mod buckets;
mod cache;
mod cancel;
mod changes;
mod client;
mod config;
mod context;
mod cooperative;
mod data;
mod data_cache;
mod file_locks;
mod join;
mod layout;
mod leases;
mod memory;
mod operations;
mod placement;
mod transaction;
mod write_back;
mod write_buffer;

pub use buckets::Buckets;
pub use cancel::Cancel;
pub use client::Client;
pub use config::Config;
pub use context::Context;
pub use cooperative::{Leaving, Served};
pub use join::{first_of, join_all};
pub use memory::{Memory, MemoryUndo};
pub use operations::{
    AllocateMode, CreateFlags, FoundFile, NameLocation, Owner, PathStep, RenameFlags, Search,
    SearchBatch, SearchFailure, SearchOptions, XattrMode,
};
