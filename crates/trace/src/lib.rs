//! Recorded runs: the operations of a program's processes on a file system, with their times.
//!
//! A trace is a file of JSON lines. The first line is the header, `{"futago_trace":1}`, with the
//! version of the format. Each other line is a [`Record`], an operation of a process, or describes
//! an [`Existing`] file or directory that the operations found. Lines may be in any order, because
//! the times at which operations began determine their order. The recorder ends a trace with the
//! line [`End`]; a recording without it is incomplete. Files have numbers; 0 is the directory in
//! which the trace takes place.
//!
//! A [`Recorder`] writes a trace while a program runs.

mod line;
mod names;
mod operation;
mod recorder;
mod text;

pub use line::{End, Ending, Exists, Header};
pub use names::Names;
pub use operation::{Existing, ExistingKind, Operation, Record};
pub use recorder::{Begun, Met, Recorder};

/// The number of the directory in which a trace takes place.
pub const ROOT: u64 = 0;

/// The version of the format.
pub const VERSION: u32 = 1;
