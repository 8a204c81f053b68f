//! The program on real clusters on this host.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod backing;
mod bench;
mod common;
mod cooperative;
mod copied_servers;
mod copies;
mod core_dumps;
mod data;
mod down_servers;
mod fabric;
mod fencing;
mod files;
mod find;
mod fsck;
mod lifecycle;
mod logs;
mod mount_options;
mod mount_points;
mod moves;
mod output;
mod paths;
mod paused;
mod ranks;
mod recorded;
mod restart;
mod secure;
mod signals;
mod staging;
mod top;
mod twin;
