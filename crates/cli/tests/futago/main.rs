//! The program on real clusters on this host.

mod bench;
mod common;
mod files;
mod fsck;
mod lifecycle;
