//! The Linux kernel's FUSE protocol, spoken directly over `/dev/fuse`.

pub mod abi;
mod attributes;
mod device;
mod handler;
mod mount;
mod negotiate;
mod notify;
mod reply;
mod request;
mod session;

pub use abi::flags::{InitFlags, OpenFlags, SetAttrValid};
pub use attributes::{Attributes, Entry, Timestamp};
pub use handler::Handler;
pub use mount::{
    Liveness, MountEntry, MountError, MountOptions, UnmountMode, Unmounter, clean_dead_mount,
    dead_mounts, mounts, probe,
};
pub use negotiate::{Granted, NegotiateError, Wanted};
pub use notify::Notifier;
pub use reply::{DirectoryList, FileSystemUsage, Reply};
pub use request::{
    CopyFileRange, Create, Fallocate, Forget, Header, Ioctl, Lock, LockRequest, MakeNode,
    Operation, ParseError, Read, Release, Rename, Request, SetAttributes, SetTime, SetXattr, Write,
};
pub use session::{Connection, Session, SessionError};
