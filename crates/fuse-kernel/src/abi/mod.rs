//! The kernel's binary interface: numbers and `#[repr(C)]` records exactly as the kernel's
//! `include/uapi/linux/fuse.h` defines them (protocol 7.31, Linux 5.10, to 7.45, Linux 6.18).
//!
//! All integers are in the host's byte order. Every record is a multiple of 8 bytes without
//! implicit padding, which the `zerocopy` derives check at compile time.

pub mod flags;
pub mod input;
pub mod opcode;
pub mod output;

/// Major protocol number of this crate.
pub const KERNEL_VERSION: u32 = 7;
/// Newest minor protocol number whose records this crate knows.
pub const KERNEL_MINOR_VERSION: u32 = 45;
/// Oldest minor protocol number accepted: Linux 5.4 to 5.10.
pub const OLDEST_MINOR_VERSION: u32 = 31;
/// Node id of the root directory of every mount.
pub const ROOT_NODE: u64 = 1;
/// The bytes of a reply's header.
pub const OUT_HEADER_BYTES: usize = size_of::<output::OutHeader>();
/// The bytes of a request's header.
pub const IN_HEADER_BYTES: usize = size_of::<input::InHeader>();

#[cfg(test)]
mod layout_tests;
