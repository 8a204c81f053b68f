//! The client of a process, as C libraries use it: one connection to a cluster, numbers of open
//! files, their positions, errors as `errno`, and what a fork does to all of these.
//!
//! | to change | look at |
//! |---|---|
//! | the one client of the process, and what a child does with its parent's | [`process`] |
//! | a fork, and the end of the process | `fork`, `exit` |
//! | numbers of open files | `descriptors` |
//! | positions, reads and writes of a caller's memory | [`open_file`] |
//! | the result of `stat` | [`status`] |
//! | how a C function fails | [`outcome`] |

mod descriptors;
mod exit;
mod fork;
pub mod open_file;
pub mod outcome;
pub mod process;
pub mod status;
