//! Futago as a mounted file system: what the kernel asks becomes operations of a client.
//!
//! The adapter is thin and keeps next to nothing: the kernel's node ids are file ids, and what the
//! kernel keeps it keeps under the client's leases. It remembers where the kernel knows which
//! directory, so that one that another mount has moved gets a node of its own there; which locks
//! were asked for through this mount, so that closing a file without locks costs nothing; and where
//! a listing was cut between names of one hash.
//!
//! ```text
//! mount            mounting and unmounting pool             the threads that take requests, and
//! who does when; traffic: what requests come polling          how a thread looks for the next
//! request gateway          requests in, answers out, interruptions directory_nodes  which of the
//! kernel's nodes are which directories retried_walks    what the kernel looks up for the second
//! time; gone_directories: what others removed kernel_caches    what the kernel keeps, and how it
//! is taken back; known_nodes: which files it knows kernel_names     which names it may use without
//! asking; taking_in: answers on their way to it;
//!                  kernel_locks: which directories it has locked
//! cached_pages       which files it reads through its pages, and when they are dropped; cached_listings: the same of directories
//! direct_changes   what is changed past these pages, so that write-backs do not undo it
//! local            what is answered without asking anybody
//! dispatch         a table: which function does which operation
//! operations/      the operations, by kind
//! answer           what an operation answers, in the kernel's terms
//! translate        attributes, times and locks in both vocabularies
//! ```
#![warn(missing_docs)]

mod answer;
mod cached_listings;
mod cached_pages;
mod call;
mod direct_changes;
mod directory_nodes;
mod dispatch;
mod gateway;
mod gone_directories;
mod interruption;
mod kernel_caches;
mod kernel_locks;
mod kernel_names;
mod known_nodes;
mod listing;
mod local;
mod lock_notes;
mod mount;
mod open_files;
mod operations;
mod polling;
mod retried_walks;
mod taking_in;
mod thread_pool;
mod traffic;
mod translate;
mod unsynchronized;

pub use futago_fuse_kernel::{FlagChange, MountFlags, UnmountMode, Unmounter, mounts, remount};
pub use kernel_caches::KernelCaches;
pub use mount::{MountFailure, Mounted, Options, mount};
