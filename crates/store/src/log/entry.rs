//! One entry of a log: a batch as bytes.
//!
//! ```text
//!   0 magic "FTGE"    4 crc32c         8 position      16 steady clock
//!  24 wall clock     32 crc32c of the entry before      36 body bytes
//!  40 data bytes     48 position of the latest durable entry before it
//!  56 body, then data
//! ```
//!
//! All numbers are little-endian. The checksum continues the one of the log's identity and covers
//! all that follows it, so an entry of another log, which a file may hold, is none of this one. The
//! body holds the records and the changes of data, in the encoding of postcard. Small data follows
//! the body; of other data the body has the name.

use crate::data::{DataFiles, PieceName, piece_of};
use bytes::Bytes;
use crc32c::crc32c_append;
use futago_base::{Batch, ChunkId, DataChange, Key, Moment, Payload, Time, Value};
use serde::{Deserialize, Serialize};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U32, U64},
};

/// "FTGE", the first bytes of every entry.
const MAGIC: u32 = u32::from_le_bytes(*b"FTGE");

/// The encoded head.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    magic: U32,
    crc32c: U32,
    position: U64,
    steady: U64,
    stamp: U64,
    previous: U32,
    body_bytes: U32,
    data_bytes: U64,
    durable: U64,
}

/// The size of an entry's head, in bytes.
const HEAD_BYTES: usize = size_of::<Head>();
/// The first bytes of the head, which its checksum does not cover.
const UNCOVERED_BYTES: usize = 8;

/// A change of data.
#[derive(Debug, Serialize, Deserialize)]
enum Change {
    /// A write, whose bytes follow the body.
    Write {
        chunk: ChunkId,
        offset: u32,
        bytes: u32,
    },
    Punch {
        chunk: ChunkId,
        from: u32,
        to: u32,
    },
    /// A write of the part `from..to` of a piece in a file.
    Place {
        chunk: ChunkId,
        offset: u32,
        piece: PieceName,
        from: u32,
        to: u32,
    },
}

/// The position of an entry in its log, and what ties it to the entry before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The number of the entry; the first one has 1.
    pub position: u64,
    /// Its checksum.
    pub crc32c: u32,
}

/// An entry that was read.
#[derive(Debug)]
pub struct Entry {
    /// Its position and checksum.
    pub link: Link,
    /// The checksum of the entry before.
    pub previous: u32,
    /// The latest entry that was durable when this one was appended.
    pub durable: u64,
    /// When its decision was made.
    pub at: Moment,
    /// Its size, in bytes.
    pub bytes: usize,
    body: Bytes,
    data: Bytes,
}

impl Entry {
    /// The changes. The data that they name is in `files`. `None` if the body is no batch.
    pub fn batch(self, files: &mut DataFiles) -> Option<Batch> {
        type Body = (Vec<(Key, Option<Value>)>, Vec<Change>);
        let (records, changes): Body = postcard::from_bytes(&self.body).ok()?;
        let mut data = self.data;
        let changes = changes.into_iter();
        let changes = changes.map(|change| change.restored(&mut data, files));
        Some(Batch {
            records,
            data: changes.collect::<Option<_>>()?,
        })
    }
}

impl Change {
    /// The change of a chunk; takes its bytes from the front of `data`.
    fn restored(self, data: &mut Bytes, files: &mut DataFiles) -> Option<DataChange> {
        let (chunk, offset, payload) = match self {
            Self::Write {
                chunk,
                offset,
                bytes,
            } => {
                let bytes = bytes as usize;
                let piece = (bytes <= data.len()).then(|| data.split_to(bytes))?;
                // The bytes must not retain the whole file that was read.
                (chunk, offset, Payload::from(Bytes::copy_from_slice(&piece)))
            }
            Self::Place {
                chunk,
                offset,
                piece,
                from,
                to,
            } => {
                let is_part = from <= to && to <= piece.bytes;
                let payload = is_part.then(|| files.named(piece, chunk, from, to))?;
                (chunk, offset, payload)
            }
            Self::Punch { chunk, from, to } => {
                return Some(DataChange::Punch { chunk, from, to });
            }
        };
        Some(DataChange::Write {
            chunk,
            offset,
            payload,
        })
    }
}

/// The bytes of the entry after `previous`, in pieces, and its link. Entries up to `durable`
/// survive a loss of power. `seed` is the checksum of the log's identity.
pub fn encode(
    batch: &Batch,
    at: Moment,
    previous: Link,
    durable: u64,
    seed: u32,
) -> (Vec<Bytes>, Link) {
    let data: Vec<Bytes> = batch.data.iter().filter_map(bytes_of).collect();
    let changes: Vec<Change> = batch.data.iter().map(change_of).collect();
    // Writing to memory does not fail, and the tests encode every kind of record.
    let mut head_and_body = postcard::to_extend(&(&batch.records, changes), vec![0; HEAD_BYTES])
        .expect("postcard cannot express a sequence without a length");
    let mut head = Head {
        magic: U32::new(MAGIC),
        crc32c: U32::new(0),
        position: U64::new(previous.position + 1),
        steady: U64::new(at.steady.0),
        stamp: U64::new(at.stamp.0),
        previous: U32::new(previous.crc32c),
        body_bytes: U32::new((head_and_body.len() - HEAD_BYTES) as u32),
        durable: U64::new(durable),
        data_bytes: U64::new(data.iter().map(|piece| piece.len() as u64).sum()),
    };
    head_and_body[..HEAD_BYTES].copy_from_slice(head.as_bytes());
    let sum = crc32c_append(seed, &head_and_body[UNCOVERED_BYTES..]);
    let sum = data
        .iter()
        .fold(sum, |sum, piece| crc32c_append(sum, piece));
    head.crc32c = U32::new(sum);
    head_and_body[..HEAD_BYTES].copy_from_slice(head.as_bytes());
    let link = Link {
        position: previous.position + 1,
        crc32c: sum,
    };
    let pieces = std::iter::once(head_and_body.into()).chain(data);
    (pieces.collect(), link)
}

/// The bytes that follow the body.
fn bytes_of(change: &DataChange) -> Option<Bytes> {
    match change {
        DataChange::Write { payload, .. } if piece_of(payload).is_none() => Some(payload.bytes()),
        DataChange::Write { .. } | DataChange::Punch { .. } => None,
    }
}

fn change_of(change: &DataChange) -> Change {
    match *change {
        DataChange::Write {
            chunk,
            offset,
            ref payload,
        } => match piece_of(payload) {
            Some((piece, part)) => Change::Place {
                chunk,
                offset,
                piece: piece.name().clone(),
                from: part.from as u32,
                to: part.to as u32,
            },
            None => Change::Write {
                chunk,
                offset,
                bytes: payload.len() as u32,
            },
        },
        DataChange::Punch { chunk, from, to } => Change::Punch { chunk, from, to },
    }
}

/// The entry at the beginning of some bytes; `None` if there is no whole one, or a damaged one.
pub fn decode(bytes: &Bytes, seed: u32) -> Option<Entry> {
    let (head, _) = Head::read_from_prefix(bytes).ok()?;
    let body_end = HEAD_BYTES.checked_add(head.body_bytes.get() as usize)?;
    let data_bytes = usize::try_from(head.data_bytes.get()).ok()?;
    let end = body_end.checked_add(data_bytes)?;
    let covered = bytes.get(UNCOVERED_BYTES..end)?;
    if head.magic.get() != MAGIC || crc32c_append(seed, covered) != head.crc32c.get() {
        return None;
    }
    Some(Entry {
        link: Link {
            position: head.position.get(),
            crc32c: head.crc32c.get(),
        },
        previous: head.previous.get(),
        durable: head.durable.get(),
        at: Moment {
            steady: Time(head.steady.get()),
            stamp: Time(head.stamp.get()),
        },
        bytes: end,
        body: bytes.slice(HEAD_BYTES..body_end),
        data: bytes.slice(body_end..end),
    })
}

/// Whether an entry somewhere in some bytes shows that the entry at a position was durable, or, for
/// no position, whether there is an entry at all.
pub fn show_durable(bytes: &Bytes, seed: u32, position: Option<u64>) -> bool {
    let words = bytes.windows(size_of_val(&MAGIC)).enumerate();
    let starts = words.filter(|(_, word)| *word == MAGIC.to_le_bytes());
    let mut entries = starts.filter_map(|(start, _)| decode(&bytes.slice(start..), seed));
    entries.any(|entry| position.is_none_or(|position| entry.durable >= position))
}
