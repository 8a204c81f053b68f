//! The position of a key in the order of keys, as one number.

use super::{Key, Target, Waiter};
use crate::{FileId, RequestId, TransactionId, XattrName};

/// A number that rises with the keys: the smaller of two keys never has the larger rank.
///
/// Comparing ranks is much faster than comparing keys. Few keys share a rank: names with nearly
/// equal hashes, and keys of rare kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u128);

/// The bits of a rank below the sort and the first field.
const SECOND_BITS: u32 = 58;
const FIRST_BITS: u32 = 64;

/// The largest hash or start of a bucket.
const HASH_MAX: u64 = (1 << 63) - 1;

impl Rank {
    /// An upper bound of [`Rank::sort`].
    pub const SORTS: usize = 44;

    /// The number of the key's kind; kinds are in the order of keys, too.
    pub const fn sort(self) -> usize {
        (self.0 >> (FIRST_BITS + SECOND_BITS)) as usize
    }

    /// A rank of a key's kind, its first field, and the significant bits of its second field.
    const fn new(sort: u8, first: u64, second: u64) -> Self {
        let (sort, first) = (sort as u128, first as u128);
        Self(sort << (FIRST_BITS + SECOND_BITS) | first << SECOND_BITS | second as u128)
    }

    /// A rank whose second field is a small number.
    fn numbered(sort: u8, first: u64, number: u64) -> Self {
        Self::new(sort, first, number.min((1 << SECOND_BITS) - 1))
    }

    /// A rank whose second field is spread over 63 bits.
    fn hashed(sort: u8, first: u64, hash: u64) -> Self {
        Self::new(sort, first, hash.min(HASH_MAX) >> (63 - SECOND_BITS))
    }

    /// A rank whose second field is a name, of which the first bytes are significant.
    fn named(sort: u8, file: FileId, name: &XattrName) -> Self {
        let mut first = [0; 8];
        for (to, from) in first.iter_mut().zip(name.as_bytes()) {
            *to = *from;
        }
        Self::new(
            sort,
            file.0,
            u64::from_be_bytes(first) >> (64 - SECOND_BITS),
        )
    }

    fn of_request(sort: u8, id: RequestId) -> Self {
        Self::numbered(sort, id.session.0, id.sequence)
    }

    fn of_transaction(sort: u8, id: TransactionId) -> Self {
        Self::numbered(sort, id.session.0, id.sequence)
    }

    /// Each kind of target has a number of its own, from `sort` on.
    fn of_locator(sort: u8, target: &Target) -> Self {
        match target {
            Target::Entry(directory, hash, _) => Self::hashed(sort, directory.0, hash.0),
            Target::Inode(id) => Self::new(sort + 1, id.0, 0),
            Target::Header(directory, bucket) => Self::hashed(sort + 2, directory.0, bucket.0),
            Target::Tree => Self::new(sort + 3, 0, 0),
        }
    }
}

impl Key {
    /// The key's position in the order of keys.
    pub fn rank(&self) -> Rank {
        match self {
            Self::Allocator(partition) => Rank::new(0, u64::from(partition.0), 0),
            Self::Inode(id) => Rank::new(1, id.0, 0),
            Self::Xattr(id, name) => Rank::named(2, *id, name),
            Self::Header(directory, bucket) => Rank::hashed(3, directory.0, bucket.0),
            Self::Entry(directory, hash, _) => Rank::hashed(4, directory.0, hash.0),
            Self::Chunk(chunk) => Rank::numbered(5, chunk.file.0, chunk.index),
            Self::Admitted(id) => Rank::new(6, id.0, 0),
            Self::TreeVersion => Rank::new(7, 0, 0),
            Self::Locator(target) => Rank::of_locator(8, target),
            Self::Participant(id) => Rank::of_transaction(12, *id),
            Self::TransactionStatus(id) => Rank::of_transaction(13, *id),
            Self::Reply(id) => Rank::of_request(14, *id),
            Self::OutboxChannel(server) => Rank::new(15, u64::from(server.0), 0),
            Self::Outbox(server, number) => Rank::numbered(16, u64::from(server.0), *number),
            Self::Inbox(server) => Rank::new(17, u64::from(server.0), 0),
            Self::OutboxWaiter(server, number, _) => {
                Rank::numbered(18, u64::from(server.0), *number)
            }
            Self::HeldReply(id) => Rank::of_request(19, *id),
            Self::Session(id) => Rank::new(20, id.0, 0),
            Self::SessionFile(session, file) => {
                Rank::new(21, session.0, file.0 >> (64 - SECOND_BITS))
            }
            Self::Opens(id) => Rank::new(22, id.0, 0),
            Self::Locks(id) => Rank::new(23, id.0, 0),
            Self::LockWaiters(id) => Rank::new(24, id.0, 0),
            Self::Parked(transaction, _) => Rank::of_transaction(25, *transaction),
            Self::Lease(id, session) => Rank::new(26, id.0, session.0 >> (64 - SECOND_BITS)),
            Self::SessionLease(session, id) => Rank::new(27, session.0, id.0 >> (64 - SECOND_BITS)),
            Self::Recall(id) => Rank::new(28, id.0, 0),
            Self::AwaitsRecall(id, Waiter::Peer { .. }) => Rank::new(29, id.0, 0),
            Self::AwaitsRecall(id, Waiter::Request(request)) => {
                Rank::new(29, id.0, request.session.0 >> (64 - SECOND_BITS))
            }
            Self::Exclusive(id) => Rank::new(30, id.0, 0),
            Self::Unfenced(session, server) => Rank::numbered(31, session.0, u64::from(server.0)),
            Self::EndedLives(server) => Rank::new(32, u64::from(server.0), 0),
            Self::Waiting(Waiter::Peer { .. }) => Rank::new(33, 0, 0),
            Self::Waiting(Waiter::Request(id)) => Rank::of_request(33, *id),
            Self::Link(home) => Rank::new(34, u64::from(home.0), 0),
            Self::Consultation(home, number) => Rank::numbered(35, u64::from(home.0), *number),
            Self::Relay(node, home) => Rank::numbered(36, node.0, u64::from(home.0)),
            Self::RelayedEntry(directory, hash, _) => Rank::hashed(37, directory.0, hash.0),
            Self::Hint(slot) => Rank::new(38, u64::from(*slot), 0),
            Self::Restoration(file) => Rank::new(39, file.0, 0),
            Self::RestorerSeen => Rank::new(40, 0, 0),
            Self::Copies(file, slot) => Rank::numbered(41, file.0, u64::from(*slot)),
            Self::Sharer(session) => Rank::new(42, session.0, 0),
            Self::Writer(id) => Rank::new(43, id.0, 0),
        }
    }
}
