//! The layer between the operations of a client and programs, which the mount and libraries share.
//!
//! | modules | subject |
//! |---|---|
//! | `credentials`, `access` | the caller, and the rights to a file |
//! | `operations` | the client behind it |
//! | `open_files`, `open_file`, `open` | open files, and the errors that they report |
//! | `locks`, `lock_holders` | advisory locks, and their owners |
//! | `lock_release`, `unsettled` | releases at a close that fail, and owners that wait for them |
//! | `data` | reads and writes |
//! | `handle`, `handle_locks` | open files in the mode in which programs have opened them |
//! | `stat`, `xattrs` | rules of attributes |
//! | `listing`, `directory_stream` | where a listing continues, and listings entry by entry |
#![no_std]

extern crate alloc;

mod access;
mod credentials;
mod data;
mod directory_stream;
mod handle;
mod handle_locks;
pub mod listing;
mod lock_holders;
mod lock_release;
mod locks;
mod open;
mod open_file;
mod open_files;
mod operations;
pub mod stat;
mod unsettled;
pub mod xattrs;

pub use access::{Access, OpenMode, is_surely_allowed};
pub use credentials::Credentials;
pub use data::{CopyRange, FileWrite, WriteOffset, allocate_mode};
pub use directory_stream::{DirectoryEntry, DirectoryStream};
pub use handle::FileHandle;
pub use handle_locks::{RangeLockRequest, RangeOwner};
pub use lock_holders::LockHolder;
pub use open::{Created, new_file};
pub use open_file::OpenFile;
pub use open_files::OpenFiles;
pub use operations::Operations;
