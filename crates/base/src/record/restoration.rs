//! The record of a released file whose data is wanted.

use crate::{Errno, SessionId};
use serde::{Deserialize, Serialize};

/// The progress of the restoration of a released file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Restoration {
    /// A client needs the data, and nobody brings it yet.
    Wanted,
    /// A session brings the data.
    By(SessionId),
    /// It has failed. The next client that needs the data gets the error, and then may try again.
    Failed(Errno),
}
