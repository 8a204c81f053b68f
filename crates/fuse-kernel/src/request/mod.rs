//! The kernel's requests, parsed from raw bytes.

mod body;
mod operation;
mod parse;

pub use operation::{
    CopyFileRange, Create, Fallocate, Ioctl, Lock, LockRequest, MakeNode, Operation, Read, Release,
    Rename, SetAttributes, SetTime, SetXattr, Write,
};
pub(crate) use parse::{Message, parse};

use thiserror::Error;

/// The caller and the node of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Identifies the request until it is answered.
    pub unique: u64,
    /// The inode of the operation; for operations on names, their directory.
    pub node: u64,
    /// User id of the caller's file system access.
    pub uid: u32,
    /// Group id of the caller's file system access.
    pub gid: u32,
    /// The calling thread in the mount's pid namespace (0: none).
    pub pid: u32,
}

/// One request that needs a reply.
#[derive(Clone, Debug)]
pub struct Request {
    /// The caller and the node.
    pub header: Header,
    /// The operation.
    pub operation: Operation,
}

/// One node whose lookups the kernel has forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forget {
    /// The node.
    pub node: u64,
    /// The number of forgotten lookups (replies with an entry).
    pub lookups: u64,
}

/// The reason why bytes are not a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer bytes than a header.
    #[error("a request of {0} bytes is shorter than its header")]
    NoHeader(usize),
    /// The header's length field differs from the number of bytes.
    #[error("a request says that it has {said} bytes and has {actual}")]
    Length {
        /// The length field.
        said: u32,
        /// The number of bytes.
        actual: usize,
    },
    /// The body ends before the operation's record, name or payload does.
    #[error("operation {opcode} ends before its {what}")]
    Truncated {
        /// Number of the operation.
        opcode: u32,
        /// The missing part.
        what: &'static str,
    },
}
