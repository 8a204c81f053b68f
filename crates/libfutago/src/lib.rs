//! `libfutago`: the C library. `include/futago.h` declares the functions. `docs/libfutago.md`
//! explains how it is used and why it is so.
//!
//! | to change | look at |
//! |---|---|
//! | a function of `futago.h` | `functions/` |
//! | the connection of the process | `session` |
//! | operations that do not block | `queue/` |
//! | the shared library and its symbol versions | `link`, `futago.map` |

pub mod functions;
pub mod queue;
mod session;
