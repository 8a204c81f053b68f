//! The files whose data requests need.

use crate::Request;
use futago_base::FileId;

impl Request {
    /// The file whose data the request reads or changes at its home, or prepares to do so.
    pub const fn needs_data_of(&self) -> Option<FileId> {
        match self {
            Self::Open(id)
            | Self::AnnounceChanges(id)
            | Self::TakeExclusive(id)
            | Self::EndExclusive { id, .. }
            | Self::CutAhead(id)
            | Self::Read { id, .. }
            | Self::PrepareWrite { id, .. }
            | Self::Write { id, .. }
            | Self::Append { id, .. }
            | Self::FinishAppend { id, .. }
            | Self::Punch { id, .. } => Some(*id),
            Self::SetAttributes { id, change } if change.size.is_some() => Some(*id),
            _ => None,
        }
    }
}
