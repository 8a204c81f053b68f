//! The program on real clusters on this host.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bench;
mod common;
mod files;
mod fsck;
mod lifecycle;
mod logs;
mod recorded;
mod twin;
