//! What the kernel asks for: typed requests parsed from raw bytes.

mod body;
mod operation;
mod parse;

pub use operation::{
    CopyFileRange, Create, Fallocate, Ioctl, Lock, LockRequest, MakeNode, Operation, Read, Release,
    Rename, SetAttributes, SetTime, SetXattr, Write,
};
pub(crate) use parse::{Message, parse};

use thiserror::Error;

/// Who asks, and about what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Names the request until it is answered.
    pub unique: u64,
    /// The inode that the operation is about; for operations on names, their directory.
    pub node: u64,
    /// User id of the caller's file system access.
    pub uid: u32,
    /// Group id of the caller's file system access.
    pub gid: u32,
    /// The calling thread, as the mount's pid namespace sees it (0: none).
    pub pid: u32,
}

/// One request that wants an answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub header: Header,
    /// What for.
    pub operation: Operation,
}

/// One node whose lookups the kernel no longer remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forget {
    /// The node.
    pub node: u64,
    /// How many lookups (answers carrying an entry) are taken back.
    pub lookups: u64,
}

/// Why bytes are not a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer bytes than a header.
    #[error("a request of {0} bytes is shorter than its header")]
    NoHeader(usize),
    /// The header's length field is not the number of bytes that came.
    #[error("a request says that it has {said} bytes and has {actual}")]
    Length {
        /// The length field.
        said: u32,
        /// The bytes that came.
        actual: usize,
    },
    /// The body ends before the operation's record, name or payload does.
    #[error("operation {opcode} ends before its {what}")]
    Truncated {
        /// Number of the operation.
        opcode: u32,
        /// The part that is missing.
        what: &'static str,
    },
}
