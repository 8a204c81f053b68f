//! The names of records, in the order of the store.

use super::{Target, Waiter};
use crate::{
    BucketStart, ChunkId, FileId, Name, NameHash, Partition, RequestId, ServerId, SessionId,
    TransactionId, XattrName,
};
use serde::{Deserialize, Serialize};

/// The name of a record.
///
/// Records of one range are neighbours: the entries of a directory in the order of their hashes,
/// the chunks of a file, the replies of a session, the messages to a server.
///
/// Files on disk have the number of a variant: a new one comes last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    /// The counter for new file identities in a partition.
    Allocator(Partition),
    /// A file's attributes.
    Inode(FileId),
    /// An extended attribute.
    Xattr(FileId, XattrName),
    /// A bucket of a directory.
    Header(FileId, BucketStart),
    /// A name in a directory.
    Entry(FileId, NameHash, Name),
    /// The existence of a chunk.
    Chunk(ChunkId),
    /// Marks that chunks of a file with another home may be here. The value is the number of the
    /// latest truncation that they have heard of.
    Admitted(FileId),
    /// The version of the tree's shape, stored at the root's home.
    TreeVersion,
    /// The transaction that is about to change a target.
    Locator(Target),
    /// The steps of a transaction on this server.
    Participant(TransactionId),
    /// The decision about a transaction (invariant I3).
    TransactionStatus(TransactionId),
    /// The saved reply to a request that had an effect.
    Reply(RequestId),
    /// A channel to another server.
    OutboxChannel(ServerId),
    /// An unconfirmed message to another server.
    Outbox(ServerId, u64),
    /// A channel from another server.
    Inbox(ServerId),
    /// A reply that waits for a message to another server. Volatile.
    OutboxWaiter(ServerId, u64, RequestId),
    /// A reply that waits for messages to other servers. Volatile.
    HeldReply(RequestId),
    /// A client. Volatile.
    Session(SessionId),
    /// Marks that a client has a file open or locked. Volatile.
    SessionFile(SessionId, FileId),
    /// The sessions that have a file open. Volatile.
    Opens(FileId),
    /// The locks on a file. Volatile.
    Locks(FileId),
    /// The lock requests that wait on a file. Volatile.
    LockWaiters(FileId),
    /// A request that waits for a transaction to be resolved. Volatile.
    Parked(TransactionId, Waiter),
    /// A lease: the client must be notified before this server changes what it has of the node. The
    /// value is the number of the request that the lease was granted for. Volatile.
    Lease(FileId, SessionId),
    /// The same lease, by client. Volatile.
    SessionLease(SessionId, FileId),
    /// The time at which the leases on a node were recalled. No lease on it is granted for a while
    /// after that. Volatile.
    Recall(FileId),
    /// A request or a message of another server that waits until leases on a node are returned, or
    /// until other clients have finished their appends. Volatile.
    AwaitsRecall(FileId, Waiter),
    /// The session that has an exclusive lease on a file. Volatile.
    Exclusive(FileId),
    /// A server that may still serve a session that is fenced here (invariant I14). Volatile.
    Unfenced(SessionId, ServerId),
    /// The incarnations of another server that are over: their messages are ignored.
    EndedLives(ServerId),
    /// The condition that a waiting message waits for: the same as [`Key::Parked`] and
    /// [`Key::AwaitsRecall`], by message. Volatile.
    Waiting(Waiter),
    /// The relation of this contact server to a home. Volatile.
    Link(ServerId),
    /// A message of this contact server, by number, that a home has not answered yet. Volatile.
    Consultation(ServerId, u64),
    /// A lease of a home that this contact server relays. Volatile.
    Relay(FileId, ServerId),
    /// A name that this contact server knows under such a lease. Volatile.
    RelayedEntry(FileId, NameHash, Name),
    /// A recent question of clients, in one of a fixed number of slots. Volatile.
    Hint(u16),
    /// The restoration of a released file that clients ask for. Volatile.
    Restoration(FileId),
    /// When a client last asked for files to restore. Volatile.
    RestorerSeen,
    /// The holders of a piece of a file, in one of a fixed number of slots of the file, while any
    /// client holds a lease on it. Volatile.
    Copies(FileId, u16),
    /// A client that shares its cache. Volatile.
    Sharer(SessionId),
    /// The client that has last written to a file under an exclusive lease and has the data in its
    /// cache. Volatile.
    Writer(FileId),
}

/// The kinds of records that a server scans as a whole now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// [`Key::Inode`].
    Inode,
    /// [`Key::Participant`].
    Participant,
    /// [`Key::TransactionStatus`].
    TransactionStatus,
    /// [`Key::OutboxChannel`].
    OutboxChannel,
    /// [`Key::HeldReply`].
    HeldReply,
    /// [`Key::Session`].
    Session,
    /// [`Key::Unfenced`].
    Unfenced,
    /// [`Key::Parked`].
    Parked,
    /// [`Key::Lease`].
    Lease,
    /// [`Key::Recall`].
    Recall,
    /// [`Key::AwaitsRecall`].
    AwaitsRecall,
    /// [`Key::Exclusive`].
    Exclusive,
    /// [`Key::Link`].
    Link,
    /// [`Key::Consultation`].
    Consultation,
    /// [`Key::Relay`].
    Relay,
    /// [`Key::Sharer`].
    Sharer,
}

/// The smallest identity of a transaction.
const TRANSACTION: TransactionId = TransactionId {
    session: SessionId(0),
    sequence: 0,
};
/// The largest identity of a transaction.
const TRANSACTION_END: TransactionId = TransactionId {
    session: SessionId(u64::MAX),
    sequence: u64::MAX,
};
/// The largest identity of a server.
const SERVER_END: ServerId = ServerId(u16::MAX);
/// The smallest identity of a request.
const FIRST: RequestId = RequestId {
    session: SessionId(0),
    sequence: 0,
};
/// The largest identity of a request.
const LAST: RequestId = RequestId {
    session: SessionId(u64::MAX),
    sequence: u64::MAX,
};

impl Key {
    /// The first key of a directory's entries with `hash` or a larger one.
    pub fn entries_from(directory: FileId, hash: NameHash) -> Self {
        Self::Entry(directory, hash, Name::least())
    }

    /// The range of a directory's entries with hashes from `first` up to `end`, or to the last.
    pub fn entries(directory: FileId, first: NameHash, end: Option<NameHash>) -> (Self, Self) {
        let end = end.unwrap_or(NameHash(u64::MAX));
        (
            Self::entries_from(directory, first),
            Self::entries_from(directory, end),
        )
    }

    /// The range of the locators of a directory's entries, as [`Key::entries`].
    pub fn entry_locators(
        directory: FileId,
        first: NameHash,
        end: Option<NameHash>,
    ) -> (Self, Self) {
        let end = end.unwrap_or(NameHash(u64::MAX));
        let at = |hash| Self::Locator(Target::Entry(directory, hash, Name::least()));
        (at(first), at(end))
    }

    /// The range of a file's chunks from `index` on.
    pub const fn chunks(file: FileId, index: u64) -> (Self, Self) {
        let end = ChunkId {
            file,
            index: u64::MAX,
        };
        (Self::Chunk(ChunkId { file, index }), Self::Chunk(end))
    }

    /// The range of a file's extended attributes.
    pub const fn xattrs(file: FileId) -> (Self, Self) {
        (
            Self::Xattr(file, XattrName::least()),
            Self::Xattr(FileId(file.0.saturating_add(1)), XattrName::least()),
        )
    }

    /// The range of a session's saved replies with numbers from `first` up to and including `last`.
    pub const fn replies(session: SessionId, first: u64, last: u64) -> (Self, Self) {
        (
            Self::Reply(RequestId {
                session,
                sequence: first,
            }),
            Self::Reply(RequestId {
                session,
                sequence: last.saturating_add(1),
            }),
        )
    }

    /// The range of the files that a session has open or locked.
    pub const fn session_files(session: SessionId) -> (Self, Self) {
        (
            Self::SessionFile(session, FileId(0)),
            Self::SessionFile(session, FileId(u64::MAX)),
        )
    }

    /// The range of the servers that may still serve a session.
    pub const fn unfenced(session: SessionId) -> (Self, Self) {
        (
            Self::Unfenced(session, ServerId(0)),
            Self::Unfenced(session, ServerId(u16::MAX)),
        )
    }

    /// The range of the messages to a server with numbers from `first` up to and including `last`.
    pub const fn outbox(server: ServerId, first: u64, last: u64) -> (Self, Self) {
        (
            Self::Outbox(server, first),
            Self::Outbox(server, last.saturating_add(1)),
        )
    }

    /// The range of the replies that wait for messages to a server up to and including `last`.
    pub const fn outbox_waiters(server: ServerId, last: u64) -> (Self, Self) {
        (
            Self::OutboxWaiter(server, 0, FIRST),
            Self::OutboxWaiter(server, last.saturating_add(1), FIRST),
        )
    }

    /// The range of the requests that wait for a transaction.
    pub const fn parked(transaction: TransactionId) -> (Self, Self) {
        (
            Self::Parked(transaction, Waiter::FIRST),
            Self::Parked(transaction, Waiter::LAST),
        )
    }

    /// The range of the headers of a directory's buckets.
    pub const fn headers(directory: FileId) -> (Self, Self) {
        (
            Self::Header(directory, BucketStart(0)),
            Self::Header(directory, BucketStart(u64::MAX)),
        )
    }

    /// The range of the leases on a node.
    pub const fn leases(node: FileId) -> (Self, Self) {
        (
            Self::Lease(node, SessionId(0)),
            Self::Lease(node, SessionId(u64::MAX)),
        )
    }

    /// The range of the leases of a session.
    pub const fn session_leases(session: SessionId) -> (Self, Self) {
        (
            Self::SessionLease(session, FileId(0)),
            Self::SessionLease(session, FileId(u64::MAX)),
        )
    }

    /// The range of the requests that wait for the leases on a node.
    pub const fn awaiting_recall(node: FileId) -> (Self, Self) {
        (
            Self::AwaitsRecall(node, Waiter::FIRST),
            Self::AwaitsRecall(node, Waiter::LAST),
        )
    }

    /// The range of the waiting requests of a session.
    pub const fn waiting_requests(session: SessionId) -> (Self, Self) {
        let first = RequestId {
            session,
            sequence: 0,
        };
        let last = RequestId {
            session,
            sequence: u64::MAX,
        };
        (
            Self::Waiting(Waiter::Request(first)),
            Self::Waiting(Waiter::Request(last)),
        )
    }

    /// The range of the unanswered messages to a home with numbers up to and including `last`.
    pub const fn consultations(home: ServerId, last: u64) -> (Self, Self) {
        (
            Self::Consultation(home, 0),
            Self::Consultation(home, last.saturating_add(1)),
        )
    }

    /// The range of the relays of a node.
    pub const fn relays(node: FileId) -> (Self, Self) {
        (
            Self::Relay(node, ServerId(0)),
            Self::Relay(node, ServerId(u16::MAX)),
        )
    }

    /// The range of the relayed entries of a directory.
    pub fn relayed_entries(directory: FileId) -> (Self, Self) {
        let at = |hash| Self::RelayedEntry(directory, NameHash(hash), Name::least());
        (at(0), at(u64::MAX))
    }

    /// The range of the holders of all pieces of a file.
    pub const fn copies(file: FileId) -> (Self, Self) {
        (Self::Copies(file, 0), Self::Copies(file, u16::MAX))
    }

    /// The range of the restorations.
    pub const fn restorations() -> (Self, Self) {
        (
            Self::Restoration(FileId(0)),
            Self::Restoration(FileId(u64::MAX)),
        )
    }

    /// The node whose leased state the record is part of, in the sense of [`Key::Lease`].
    ///
    /// Every request is checked against it afterwards, so that no operation can forget to recall
    /// leases (invariant I12).
    pub const fn leased_node(&self) -> Option<FileId> {
        match self {
            Self::Inode(id) | Self::Xattr(id, _) => Some(*id),
            Self::Header(directory, _) | Self::Entry(directory, ..) => Some(*directory),
            Self::Locator(Target::Inode(id)) => Some(*id),
            Self::Locator(Target::Entry(directory, ..) | Target::Header(directory, _)) => {
                Some(*directory)
            }
            _ => None,
        }
    }

    /// The range of all records of a kind.
    pub fn whole_sort(sort: Sort) -> (Self, Self) {
        match sort {
            Sort::Inode => (Self::Inode(FileId(0)), Self::Inode(FileId(u64::MAX))),
            Sort::Participant => (
                Self::Participant(TRANSACTION),
                Self::Participant(TRANSACTION_END),
            ),
            Sort::TransactionStatus => (
                Self::TransactionStatus(TRANSACTION),
                Self::TransactionStatus(TRANSACTION_END),
            ),
            Sort::OutboxChannel => (
                Self::OutboxChannel(ServerId(0)),
                Self::OutboxChannel(SERVER_END),
            ),
            Sort::HeldReply => (Self::HeldReply(FIRST), Self::HeldReply(LAST)),
            Sort::Session => (
                Self::Session(SessionId(0)),
                Self::Session(SessionId(u64::MAX)),
            ),
            Sort::Unfenced => (
                Self::Unfenced(SessionId(0), ServerId(0)),
                Self::Unfenced(SessionId(u64::MAX), SERVER_END),
            ),
            Sort::Parked => (
                Self::Parked(TRANSACTION, Waiter::FIRST),
                Self::Parked(TRANSACTION_END, Waiter::LAST),
            ),
            Sort::Lease => (
                Self::Lease(FileId(0), SessionId(0)),
                Self::Lease(FileId(u64::MAX), SessionId(u64::MAX)),
            ),
            Sort::Recall => (Self::Recall(FileId(0)), Self::Recall(FileId(u64::MAX))),
            Sort::AwaitsRecall => (
                Self::AwaitsRecall(FileId(0), Waiter::FIRST),
                Self::AwaitsRecall(FileId(u64::MAX), Waiter::LAST),
            ),
            Sort::Exclusive => (
                Self::Exclusive(FileId(0)),
                Self::Exclusive(FileId(u64::MAX)),
            ),
            Sort::Link => (Self::Link(ServerId(0)), Self::Link(SERVER_END)),
            Sort::Consultation => (
                Self::Consultation(ServerId(0), 0),
                Self::Consultation(SERVER_END, u64::MAX),
            ),
            Sort::Relay => (
                Self::Relay(FileId(0), ServerId(0)),
                Self::Relay(FileId(u64::MAX), SERVER_END),
            ),
            Sort::Sharer => (
                Self::Sharer(SessionId(0)),
                Self::Sharer(SessionId(u64::MAX)),
            ),
        }
    }

    /// Whether the record survives a restart of its server.
    pub const fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::OutboxWaiter(..)
                | Self::HeldReply(_)
                | Self::Session(_)
                | Self::Unfenced(..)
                | Self::SessionFile(..)
                | Self::Opens(_)
                | Self::Locks(_)
                | Self::LockWaiters(_)
                | Self::Parked(..)
                | Self::Lease(..)
                | Self::SessionLease(..)
                | Self::Recall(_)
                | Self::AwaitsRecall(..)
                | Self::Waiting(_)
                | Self::Exclusive(_)
                | Self::Link(_)
                | Self::Consultation(..)
                | Self::Relay(..)
                | Self::RelayedEntry(..)
                | Self::Hint(_)
                | Self::Restoration(_)
                | Self::RestorerSeen
                | Self::Copies(..)
                | Self::Sharer(_)
                | Self::Writer(_)
        )
    }
}
