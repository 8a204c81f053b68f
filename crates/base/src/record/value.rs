//! The contents of records.

use super::{
    AppendRange, Awaited, Consultation, Copies, CopyHolder, Door, Entry, Header, HeldReply, Hint,
    InboxChannel, Inode, Link, LockWaiter, Opener, Opens, OutboxChannel, Participant, RangeLock,
    Recall, Relay, RelayedEntry, Restoration, Session, StoredMessage, TransactionStatus,
};
use crate::{Incarnation, TransactionId};
use alloc::{boxed::Box, vec::Vec};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Variants and accessors. `boxed` ones are behind a pointer, because they are larger than most.
macro_rules! values {
    (
        inline { $($(#[$doc:meta])* $variant:ident($type:ty) as $accessor:ident;)* }
        boxed { $($(#[$boxed_doc:meta])* $boxed:ident($large:ty) as $boxed_accessor:ident;)* }
    ) => {
        /// The contents of a record; its key determines the variant.
        ///
        /// Files on disk have the number of a variant: a new one is the last of `boxed`.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Value {
            $($(#[$doc])* $variant($type),)*
            $($(#[$boxed_doc])* $boxed(Box<$large>),)*
        }

        impl Value {
            $(
                $(#[$doc])*
                /// `None` if the record is of another kind.
                pub const fn $accessor(&self) -> Option<&$type> {
                    match self { Self::$variant(value) => Some(value), _ => None }
                }
            )*
            $(
                $(#[$boxed_doc])*
                /// `None` if the record is of another kind.
                pub fn $boxed_accessor(&self) -> Option<&$large> {
                    match self { Self::$boxed(value) => Some(value), _ => None }
                }
            )*
        }

        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*

        $(impl From<$large> for Value {
            fn from(value: $large) -> Self {
                Self::$boxed(Box::new(value))
            }
        })*
    };
}

values! {
    inline {
        /// A counter, a version, a sequence number or the number of a lease. Of
        /// [`Key::SessionLease`](super::Key::SessionLease) it is the number of the first request
        /// that the lease was granted for.
        Number(u64) as number;
        /// An extended attribute's value or a saved reply.
        Bytes(Bytes) as bytes;
        /// Of [`Key::Header`](super::Key::Header).
        Header(Header) as header;
        /// Of [`Key::Entry`](super::Key::Entry).
        Entry(Entry) as entry;
        /// Of [`Key::Locator`](super::Key::Locator).
        Locator(TransactionId) as locator;
        /// Of [`Key::TransactionStatus`](super::Key::TransactionStatus).
        TransactionStatus(TransactionStatus) as transaction_status;
        /// Of [`Key::OutboxChannel`](super::Key::OutboxChannel).
        OutboxChannel(OutboxChannel) as outbox_channel;
        /// Of [`Key::Inbox`](super::Key::Inbox).
        InboxChannel(InboxChannel) as inbox_channel;
        /// Of [`Key::HeldReply`](super::Key::HeldReply).
        HeldReply(HeldReply) as held_reply;
        /// Of [`Key::Session`](super::Key::Session).
        Session(Session) as session;
        /// Of [`Key::Recall`](super::Key::Recall).
        Recall(Recall) as recall;
        /// Of [`Key::Opens`](super::Key::Opens).
        Opens(Opens) as opens;
        /// Of [`Key::Locks`](super::Key::Locks).
        Locks(Vec<RangeLock>) as locks;
        /// Of [`Key::LockWaiters`](super::Key::LockWaiters).
        LockWaiters(Vec<LockWaiter>) as lock_waiters;
        /// Of [`Key::Waiting`](super::Key::Waiting).
        Awaited(Awaited) as awaited;
        /// Of [`Key::EndedLives`](super::Key::EndedLives).
        Lives(Vec<Incarnation>) as lives;
        /// Of [`Key::RelayedEntry`](super::Key::RelayedEntry).
        RelayedEntry(RelayedEntry) as relayed_entry;
        /// Of [`Key::Hint`](super::Key::Hint).
        Hint(Hint) as hint;
        /// Of [`Key::Restoration`](super::Key::Restoration).
        Restoration(Restoration) as restoration;
        /// Of [`Key::SessionFile`](super::Key::SessionFile),
        /// [`Key::Unfenced`](super::Key::Unfenced) and
        /// [`Key::OutboxWaiter`](super::Key::OutboxWaiter), whose keys hold all information.
        Present(()) as present;
    }
    boxed {
        /// Of [`Key::Inode`](super::Key::Inode).
        Inode(Inode) as inode;
        /// Of [`Key::Participant`](super::Key::Participant).
        Participant(Participant) as participant;
        /// Of [`Key::Outbox`](super::Key::Outbox), [`Key::Parked`](super::Key::Parked) and
        /// [`Key::AwaitsRecall`](super::Key::AwaitsRecall).
        Message(StoredMessage) as message;
        /// Of [`Key::Link`](super::Key::Link).
        Link(Link) as link;
        /// Of [`Key::Consultation`](super::Key::Consultation).
        Consultation(Consultation) as consultation;
        /// Of [`Key::Relay`](super::Key::Relay).
        Relay(Relay) as relay;
        /// Of [`Key::Copies`](super::Key::Copies).
        Copies(Copies) as copies;
        /// Of [`Key::Sharer`](super::Key::Sharer).
        Door(Door) as door;
    }
}

impl Value {
    /// The bytes on the heap that the value owns.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Inode(inode) => {
                size_of::<Inode>() + inode.target.len() + inode.truncations.steps.len() * 16
            }
            Self::Participant(p) => size_of::<Participant>() + p.steps.len() + p.targets.len() * 64,
            Self::TransactionStatus(status) => status.participants.len() * 2,
            Self::Message(message) => {
                size_of::<StoredMessage>() + message.body.len() + message.payload.len()
            }
            Self::Opens(opens) => {
                let ranges: usize = opens.iter().map(|opener| opener.appends.len()).sum();
                opens.len() * size_of::<Opener>() + ranges * size_of::<AppendRange>()
            }
            Self::Link(_) => size_of::<Link>(),
            Self::Consultation(it) => size_of::<Consultation>() + it.question.len(),
            Self::Copies(copies) => {
                size_of::<Copies>() + copies.holders.len() * size_of::<CopyHolder>()
            }
            Self::Door(door) => door.address.len(),
            Self::Relay(relay) => size_of::<Relay>() + relay.state.len(),
            Self::Locks(locks) => locks.len() * size_of::<RangeLock>(),
            Self::Lives(lives) => lives.len() * size_of::<Incarnation>(),
            Self::LockWaiters(waiters) => waiters.len() * size_of::<LockWaiter>(),
            _ => 0,
        }
    }
}
