//! Futago as a mounted file system: requests of the kernel become operations of a client.
//!
//! The adapter is thin and has little state: the kernel's node ids are file ids, and the kernel
//! caches under the client's leases. The adapter remembers three things: the directories that the
//! kernel knows and where, so that a directory that another mount has moved gets a node of its own
//! there; the locks of this mount, so that closing a file without locks costs nothing; and where a
//! listing was cut between names of one hash.
//!
//! | modules | subject |
//! |---|---|
//! | `mount` | mounting and unmounting |
//! | `thread_pool`, `traffic` | the threads that serve requests, and the recent requests |
//! | `polling` | how a thread polls for the next request |
//! | `gateway`, `interruption` | requests in, replies out, interruptions |
//! | `dispatch`, `operations`, `answer` | the operations by kind, and their replies |
//! | `directory_nodes`, `directory_cookies` | the nodes of directories, and cookies of listings |
//! | `retried_walks`, `gone_directories` | repeated path walks, and removed directories |
//! | `kernel_caches`, `known_nodes` | the kernel's caches and nodes, and their invalidation |
//! | `cache_progress` | wakes invalidations that wait |
//! | `kernel_names`, `taking_in`, `kernel_locks` | cached names, replies on their way, locks |
//! | `cached_pages`, `cached_listings` | files and directories that the kernel has pages of |
//! | `direct_changes` | changes past these pages, so that write-backs do not undo them |
//! | `open_handles` | the numbers of open files |
//! | `local` | requests that need no server |
//! | `translate` | attributes, times and locks in both vocabularies |
#![warn(missing_docs)]

mod answer;
mod cache_progress;
mod cached_listings;
mod cached_pages;
mod call;
mod callers;
mod direct_changes;
mod directory_cookies;
mod directory_nodes;
mod dispatch;
mod gateway;
mod gone_directories;
mod interruption;
mod kernel_caches;
mod kernel_locks;
mod kernel_names;
mod known_nodes;
mod local;
mod mount;
mod open_handles;
mod operations;
mod polling;
mod retried_walks;
mod taking_in;
mod thread_pool;
mod traffic;
mod translate;

pub use futago_fuse_kernel::{FlagChange, MountFlags, UnmountMode, Unmounter, mounts, remount};
pub use kernel_caches::KernelCaches;
pub use mount::{MountFailure, Mounted, Options, mount};
