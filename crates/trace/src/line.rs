//! The lines of a trace that are not operations.

use crate::{Existing, VERSION};
use serde::{Deserialize, Serialize};

/// The first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub futago_trace: u32,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            futago_trace: VERSION,
        }
    }
}

/// A line about a file that existed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exists {
    /// The file.
    pub exists: Existing,
}

/// The last line of a complete recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The totals of the recording.
    pub end: Ending,
}

/// The numbers of recorded and omitted operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// The number of operations in the trace.
    pub operations: u64,
    /// The number of omitted operations. They were on files that the trace cannot describe: files
    /// created without a name, and files that another program created in a new directory.
    pub left_out: u64,
}
