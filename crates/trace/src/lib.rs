//! Recorded runs: what the processes of a program did on a file system, and when.
//!
//! A trace is a file of JSON lines. The first one is the header, `{"futago_trace":1}`, with the version of
//! the format. Each other line is a [`Record`], an operation of a process, or says what [`Existing`] file or
//! directory the operations found. Lines may stand in any order: what counts is when operations began. The
//! recorder ends a trace with the line [`End`]; without it a recording has been cut.
//! Files have numbers; 0 is the directory in which all takes place.
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
