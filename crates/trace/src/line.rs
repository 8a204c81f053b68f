//! The lines of a trace that are no operations.

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

/// A line about what was there already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exists {
    /// What it was.
    pub exists: Existing,
}

/// The last line of a recording that nothing has cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// What has been recorded.
    pub end: Ending,
}

/// What has been recorded, and what has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// How many operations the trace has.
    pub operations: u64,
    /// How many were about files that the trace cannot tell of: those that were made without a name, or by
    /// others in a directory that is new itself.
    pub left_out: u64,
}
