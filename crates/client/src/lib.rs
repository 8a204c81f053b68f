//! What a client decides: file system operations as asynchronous functions over a [`Context`].
//!
//! An operation talks to the world through the context alone: it calls servers, sleeps, and joins
//! several of these in a fixed order. No runtime, clock, socket or random source appears here, so
//! the same code runs in a real client and in a simulated one.
#![no_std]

extern crate alloc;

mod buckets;
mod cache;
mod cancel;
mod changes;
mod client;
mod config;
mod context;
mod data;
mod join;
mod kept_blocks;
mod kept_data;
mod layout;
mod leases;
mod memory;
mod operations;
mod placement;
mod transaction;
mod turns;
mod unsent;
mod write_back;

pub use buckets::Buckets;
pub use cancel::Cancel;
pub use client::Client;
pub use config::Config;
pub use context::Context;
pub use join::{first_of, join_all};
pub use memory::{Memory, MemoryUndo};
pub use operations::{AllocateMode, Owner, PathStep, Place, RenameFlags, XattrMode};
