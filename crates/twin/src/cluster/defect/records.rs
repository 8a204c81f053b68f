//! Defects of what a server writes down.

use super::Defect;
use futago_base::{
    Batch, DataChange, Key, Time, Timestamp, Value, View,
    record::{Relay, SessionState, TransactionState, Truncations},
};
use futago_server::Input;
use futago_wire::{Peer, PeerAnswer, PeerChange, Request};

/// The cause of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another server removes a name.
    DropLink,
    /// Another server tells of a truncation.
    Cut,
    /// A request that changes attributes.
    SetAttributes,
    /// A write that a client has buffered until now, with the time that it carries.
    BufferedWrite(Timestamp),
    /// Another server confirms messages.
    Confirmation,
    /// Time has passed.
    Tick,
    /// A loss of power may have undone batches.
    Lost,
    /// Anything else.
    Other,
}

impl Cause {
    /// The cause of a decision about this input.
    pub const fn of(input: &Input) -> Self {
        match input {
            Input::Tick => Self::Tick,
            Input::Lost => Self::Lost,
            Input::PeerAnswer(PeerAnswer::Delivered { .. }) => Self::Confirmation,
            Input::Request {
                request: Request::SetAttributes { .. },
                ..
            } => Self::SetAttributes,
            Input::Request {
                request:
                    Request::Write {
                        written: Some(written),
                        ..
                    },
                ..
            } => Self::BufferedWrite(*written),
            Input::Peer(Peer::Deliver { change, .. }) => match change {
                PeerChange::DropLink { .. } => Self::DropLink,
                PeerChange::Cut { .. } => Self::Cut,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

impl Defect {
    /// Alters a batch before the store gets it.
    pub fn alter_batch<V: View>(self, batch: &mut Batch, cause: Cause, before: &V) {
        let splits = batch.records.iter().any(|change| is_split(change, before));
        batch
            .records
            .retain(|change| !self.loses(change, cause, splits));
        for (key, value) in &mut batch.records {
            self.alter_record(key, value, cause, before);
        }
        if self == Self::IgnoresCuts && cause == Cause::Cut {
            batch.data.clear();
        }
        if self == Self::ForgetsCuts && cause == Cause::Cut {
            batch
                .data
                .retain(|change| !matches!(change, DataChange::Punch { .. }));
        }
        if self == Self::KeepsOwnCuts && cause == Cause::SetAttributes {
            batch.data.clear();
        }
    }

    fn loses(self, (key, value): &(Key, Option<Value>), cause: Cause, splits: bool) -> bool {
        let is_put = value.is_some();
        match self {
            Self::ForgetsReplies => is_put && matches!(key, Key::Reply(_)),
            Self::ForgetsInbox => is_put && matches!(key, Key::Inbox(_)),
            Self::DrawsIdsTwice => is_put && matches!(key, Key::Allocator(_)),
            Self::KeepsMovedEntries => splits && !is_put && matches!(key, Key::Entry(..)),
            Self::KeepsDroppedLinks => cause == Cause::DropLink && matches!(key, Key::Inode(_)),
            Self::KeepsRemovedXattrs => !is_put && matches!(key, Key::Xattr(..)),
            Self::ForgetsLeases => is_put && matches!(key, Key::Lease(..)),
            Self::RelaysAfterRecall => !is_put && matches!(key, Key::RelayedEntry(..)),
            Self::ForgetsExclusiveLeases => is_put && matches!(key, Key::Exclusive(_)),
            Self::ForgetsOpens => is_put && matches!(key, Key::Opens(_)),
            Self::KeepsOpensOfDead => cause == Cause::Tick && matches!(key, Key::Opens(_)),
            Self::ForgetsChunks => is_put && matches!(key, Key::Chunk(_)),
            Self::ForgetsLocators => is_put && matches!(key, Key::Locator(_)),
            Self::IgnoresCuts => cause == Cause::Cut && matches!(key, Key::Chunk(_)),
            Self::ForgetsCuts => {
                cause == Cause::Cut && matches!(key, Key::Chunk(_) | Key::Admitted(_))
            }
            Self::ForgetsLocks => is_put && matches!(key, Key::Locks(_)),
            Self::NeverFinishesTransactions => {
                !is_put && cause == Cause::Confirmation && matches!(key, Key::TransactionStatus(_))
            }
            Self::KeepsSessionsOfLost => {
                cause == Cause::Lost && !matches!(key, Key::Allocator(_) | Key::Inode(_))
            }
            Self::ReusesLostIdentities => cause == Cause::Lost && matches!(key, Key::Allocator(_)),
            Self::KeepsLeasesOfGone => {
                !is_put
                    && cause == Cause::Tick
                    && matches!(key, Key::SessionLease(..) | Key::Lease(..))
            }
            _ => false,
        }
    }

    fn alter_record<V: View>(self, key: &Key, value: &mut Option<Value>, cause: Cause, before: &V) {
        match (key, &mut *value) {
            (Key::Admitted(_), None) if self == Self::KeepsAdmissions => {
                *value = Some(Value::Number(0));
            }
            (Key::Relay(..), None) if self == Self::RelaysAfterRecall => {
                let known = before.get(key).and_then(Value::relay).cloned();
                *value = known.map(|relay| relay_again(relay).into());
            }
            (Key::TransactionStatus(_), Some(Value::TransactionStatus(status)))
                if self == Self::ForgetsDecisions
                    && status.state == TransactionState::Committed =>
            {
                *value = None;
            }
            (_, Some(record)) => self.alter_value(key, record, cause, before),
            _ => {}
        }
    }

    fn alter_value<V: View>(self, key: &Key, value: &mut Value, cause: Cause, before: &V) {
        match (self, value) {
            (Self::MiscountsEntries, Value::Header(header)) => {
                let known = before.get(key).and_then(Value::header);
                header.entries = known.map_or(header.entries, |known| known.entries);
            }
            (Self::ForgetsTruncations, Value::Inode(inode)) => {
                inode.truncations = Truncations::default();
            }
            (Self::ForgetsPendingCuts, Value::Inode(inode)) => inode.cuts_pending = 0,
            (Self::ForgetsReleases, Value::Inode(inode)) => inode.released = false,
            (Self::EndsRestorationsEarly, Value::Inode(inode)) => {
                let known = before.get(key).and_then(Value::inode);
                inode.released &= known.is_none();
            }
            (Self::KeepsChangeTimes, Value::Inode(inode)) if cause == Cause::SetAttributes => {
                let known = before.get(key).and_then(Value::inode);
                inode.changed = known.map_or(inode.changed, |known| known.changed);
            }
            (Self::TakesClientStamps, Value::Inode(inode)) => {
                if let Cause::BufferedWrite(written) = cause {
                    (inode.modified, inode.changed) = (written, written);
                }
            }
            (Self::ForgetsAcknowledged, Value::Session(session)) => session.acknowledged = 0,
            (Self::EndsLeasesOfHeard, Value::Session(session))
                if matches!(session.state, SessionState::Fenced { .. }) =>
            {
                session.seen = Time(0);
            }
            (Self::ForgetsExpiry, Value::Session(session)) => session.state = SessionState::Living,
            _ => {}
        }
    }
}

/// A relay that goes on after its end.
fn relay_again(relay: Relay) -> Relay {
    Relay {
        is_ending: false,
        ..relay
    }
}

/// Whether the range of a bucket gets smaller.
fn is_split<V: View>((key, value): &(Key, Option<Value>), before: &V) -> bool {
    let level = |value: Option<&Value>| value.and_then(Value::header).map(|header| header.level);
    let (old, new) = (level(before.get(key)), level(value.as_ref()));
    old.is_some() && new > old
}
