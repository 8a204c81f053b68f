//! The names of records, in the order in which a store keeps them.

use super::Target;
use crate::{
    BucketStart, ChunkId, FileId, Name, NameHash, Partition, RequestId, ServerId, SessionId,
    TransactionId,
};

/// The name of a record.
///
/// Records of one range are neighbours: the entries of a directory in the order of their hashes,
/// the chunks of a file, the replies of a session, the messages to a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The counter from which a partition takes file identities.
    Allocator(Partition),
    /// A file's attributes.
    Inode(FileId),
    /// An extended attribute.
    Xattr(FileId, Name),
    /// A bucket of a directory.
    Header(FileId, BucketStart),
    /// A name in a directory.
    Entry(FileId, NameHash, Name),
    /// The existence of a chunk, and the latest truncation that it has heard of.
    Chunk(ChunkId),
    /// The version of the tree's shape; at the root's home.
    TreeVersion,
    /// Who is about to change something.
    Locator(Target),
    /// The steps of a transaction on this server.
    Participant(TransactionId),
    /// The decision about a transaction.
    TransactionStatus(TransactionId),
    /// The saved reply to a request that had an effect.
    Reply(RequestId),
    /// A channel to another server.
    OutboxChannel(ServerId),
    /// A message to another server that has not been confirmed.
    Outbox(ServerId, u64),
    /// The number of the last message from another server that took effect.
    Inbox(ServerId),
    /// Which replies wait for a message to another server. Volatile.
    OutboxWaiter(ServerId, u64, RequestId),
    /// A reply that waits for messages to other servers. Volatile.
    HeldReply(RequestId),
    /// A client. Volatile.
    Session(SessionId),
    /// That a client has a file open or locked. Volatile.
    SessionFile(SessionId, FileId),
    /// Who has a file open. Volatile.
    Opens(FileId),
    /// The locks on a file. Volatile.
    Locks(FileId),
    /// The lock requests that wait on a file. Volatile.
    LockWaiters(FileId),
    /// A request that waits for a transaction to be resolved. Volatile.
    Parked(TransactionId, RequestId),
}

impl Key {
    /// The first key of a directory's entries with `hash` or a larger one.
    pub fn entries_from(directory: FileId, hash: NameHash) -> Self {
        Self::Entry(directory, hash, Name::least())
    }

    /// Whether the record survives a restart of its server.
    pub const fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::OutboxWaiter(..)
                | Self::HeldReply(_)
                | Self::Session(_)
                | Self::SessionFile(..)
                | Self::Opens(_)
                | Self::Locks(_)
                | Self::LockWaiters(_)
                | Self::Parked(..)
        )
    }
}
