//! Decisions that real and simulated nodes share: when a request is sent, sent again or given up,
//! how many may be under way, how clocks are kept in step. Nothing here does input or output: time
//! comes in as an argument, frames go out as values.
#![no_std]

extern crate alloc;
