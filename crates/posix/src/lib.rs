//! The client of a process, as C libraries use it: one connection to a cluster, numbers of open
//! files, errors as `errno`, and what a fork does to all of these.
//!
//! | to change | look at |
//! |---|---|
//! | the one client of the process, and what a child does with its parent's | [`process`] |
//! | a fork, and the end of the process | `fork`, `exit` |
//! | numbers of open files | `descriptors` |
//! | the memory that callers pass | [`memory`] |
//! | the cluster file, and messages | [`cluster_file`], [`log`] |
//! | the result of `stat` | [`status`] |
//! | how a C function fails | [`outcome`] |

pub mod cluster_file;
mod descriptors;
mod exit;
mod fork;
pub mod log;
pub mod memory;
pub mod outcome;
pub mod process;
pub mod status;
