//! What a client decides: file system operations as asynchronous functions over a [`Context`].
//!
//! An operation talks to the world through the context alone: it calls servers, sleeps, and joins
//! several of these in a fixed order. No runtime, clock, socket or random source appears here, so
//! the same code runs in a real client and in a simulated one.
#![no_std]
#![allow(unused_variables, dead_code, clippy::unused_async)]

extern crate alloc;

pub mod cancel;
pub mod client;
pub mod config;
pub mod context;
pub mod join;
pub mod operations;

pub use cancel::Cancel;
pub use client::Client;
pub use config::Config;
pub use context::Context;
pub use join::join_all;
pub use operations::{AllocateMode, Place, RenameFlags, XattrMode};
