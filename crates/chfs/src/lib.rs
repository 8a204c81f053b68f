//! `libchfs`: programs that were written for CHFS (Tatebe et al., *CHFS: Parallel Consistent
//! Hashing File System for Node-local Persistent Memory*, HPC Asia 2022) run on Futago without a
//! change. The functions are declared in `include/chfs.h`; `docs/chfs.md` tells what is different.
//!
//! | to change | look at |
//! |---|---|
//! | a function of `chfs.h` | `functions/` |
//! | the effect of an environment variable | `settings` |
//! | how a path is read | `path` |
//! | a tool, such as `chlist` | `bin/chfs-tools` |
//! | where CHFS deviates from POSIX | `compatible` |

mod compatible;
pub mod functions;
mod log;
mod path;
pub mod session;
pub mod settings;
