//! Messages as bytes: a fixed head in little-endian order, the body, the data.
//!
//! ```text
//!   0 magic "FTGO"    4 version        6 kind            7 data location
//!   8 server         10 reserved      12 body bytes     16 data bytes
//!  20 crc32c         24 session       32 sequence       40 acknowledged
//!  48 clock          56 map epoch     60 features
//!  64 body, then data, then crc32c of the data if there is any
//! ```
//!
//! The head's checksum covers the head (with a checksum of zero) and the body. The checksum of the
//! data continues it, so that a message does not accept the data of another message. It follows the
//! data, so that both ends compute it part by part while each part is in their CPU caches.

use crate::{
    CacheReply, CacheRequest, Header, MessageKind, Outcome, Peer, PeerAnswer, Push, Request,
};
use alloc::vec::Vec;
use bytes::Bytes;
use core::fmt;
use futago_base::{Payload, ServerId, SessionId, Time, limits};
use serde::{Serialize, de::DeserializeOwned};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// "FTGO", the first bytes of every message.
const MAGIC: u32 = u32::from_le_bytes(*b"FTGO");
/// The version of this encoding. Peers of different versions refuse each other.
pub const VERSION: u16 = 20;

/// Continues a CRC32C over more bytes.
///
/// The caller supplies it, because the fastest instructions can only be detected with an operating
/// system.
pub type Crc32c = fn(u32, &[u8]) -> u32;

/// The encoded head.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHeader {
    magic: U32,
    version: U16,
    kind: u8,
    payload_place: u8,
    server: U16,
    reserved: U16,
    body_bytes: U32,
    payload_bytes: U32,
    crc32c: U32,
    session: U64,
    sequence: U64,
    acknowledged: U64,
    clock: U64,
    map_epoch: U32,
    features: U32,
}

/// The size of a message's head, in bytes.
pub const HEADER_BYTES: usize = size_of::<RawHeader>();
/// The size of the checksum that follows a message's data, in bytes.
pub const DATA_SUM_BYTES: usize = size_of::<u32>();
/// The payload follows the body. Other locations (shared memory, remote memory) are reserved.
const PAYLOAD_INLINE: u8 = 0;

/// The reason why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes do not begin with the magic number.
    Magic(u32),
    /// The peer uses another version of the protocol.
    Version(u16),
    /// A field of the head has an undefined value.
    Field(&'static str, u8),
    /// The body or the data exceeds the limit.
    Length(&'static str, u32),
    /// The bytes differ from the sent ones.
    Checksum,
    /// There are fewer or more bytes than the head announces.
    Truncated,
    /// The body does not decode as its kind.
    Body,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(found) => write!(f, "not a Futago message (it starts with {found:#010x})"),
            Self::Version(found) => {
                write!(
                    f,
                    "the peer speaks protocol version {found}, this program {VERSION}"
                )
            }
            Self::Field(name, value) => write!(f, "unknown {name} {value} in a message's head"),
            Self::Length(name, bytes) => write!(f, "{name} of {bytes} bytes is too long"),
            Self::Checksum => f.write_str("a message's checksum is wrong"),
            Self::Truncated => f.write_str("a message is not as long as its head says"),
            Self::Body => f.write_str("a message's body cannot be read"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "bodies are decoded, handled and dropped one at a time"
)]
pub enum Body {
    /// From client to server.
    Request(Request),
    /// The reply to a request.
    Outcome(Outcome),
    /// From server to server.
    Peer(Peer),
    /// The reply to a peer message.
    PeerAnswer(PeerAnswer),
    /// From server to client.
    Push(Push),
    /// From client to client.
    CacheRequest(CacheRequest),
    /// The reply to it.
    CacheReply(CacheReply),
}

impl Body {
    /// The kind in the head of a message with this body.
    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::Request(_) => MessageKind::Request,
            Self::Outcome(_) => MessageKind::Outcome,
            Self::Peer(_) => MessageKind::Peer,
            Self::PeerAnswer(_) => MessageKind::PeerAnswer,
            Self::Push(_) => MessageKind::Push,
            Self::CacheRequest(_) => MessageKind::CacheRequest,
            Self::CacheReply(_) => MessageKind::CacheReply,
        }
    }

    fn encode_after(&self, head: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Request(body) => encode_after(head, body),
            Self::Outcome(body) => encode_after(head, body),
            Self::Peer(body) => encode_after(head, body),
            Self::PeerAnswer(body) => encode_after(head, body),
            Self::Push(body) => encode_after(head, body),
            Self::CacheRequest(body) => encode_after(head, body),
            Self::CacheReply(body) => encode_after(head, body),
        }
    }

    fn decode(kind: MessageKind, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            MessageKind::Request => Self::Request(decode(bytes)?),
            MessageKind::Outcome => Self::Outcome(decode(bytes)?),
            MessageKind::Peer => Self::Peer(decode(bytes)?),
            MessageKind::PeerAnswer => Self::PeerAnswer(decode(bytes)?),
            MessageKind::Push => Self::Push(decode(bytes)?),
            MessageKind::CacheRequest => Self::CacheRequest(decode(bytes)?),
            MessageKind::CacheReply => Self::CacheReply(decode(bytes)?),
        })
    }
}

/// More bytes than most values need, so that their buffer does not grow.
const ENCODED_BYTES: usize = 128;

/// Encodes one value, as in the body of a message. Servers store messages in this encoding, too.
pub fn encode<T: Serialize>(value: &T) -> Bytes {
    encode_after(Vec::with_capacity(ENCODED_BYTES), value).into()
}

/// Appends the encoding of one value to `head`.
fn encode_after<T: Serialize>(head: Vec<u8>, value: &T) -> Vec<u8> {
    // The tests encode every type.
    postcard::to_extend(value, head).expect("postcard cannot express a sequence without a length")
}

/// Decodes one value; all bytes must be used.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(DecodeError::Body),
    }
}

/// Decodes a value that this process has encoded itself and stored since.
///
/// # Panics
///
/// On other bytes. A server's records are the only copy of its state, and it must not continue
/// without a part of them.
pub fn restore<T: DeserializeOwned>(bytes: &[u8]) -> T {
    decode(bytes).expect("a stored message is as it was encoded")
}

/// A whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The head. Its kind is the kind of the body.
    pub header: Header,
    /// The body.
    pub body: Body,
    /// The data.
    pub payload: Payload,
}

/// The lengths that a head announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Length of the body, at most [`limits::BODY_BYTES`].
    pub body_bytes: usize,
    /// Length of the data, at most [`limits::PAYLOAD_BYTES`].
    pub payload_bytes: usize,
    /// Length of the checksum after the data; 0 if there is no data.
    pub data_sum_bytes: usize,
    /// The checksum that the checksum of the data continues.
    pub head_sum: u32,
}

impl Frame {
    /// The message as pieces to send in order: head with body, the data, and the checksum of the
    /// data. The data is not copied.
    pub fn encode(&self, crc32c: Crc32c) -> [Bytes; 3] {
        let mut head = Vec::with_capacity(HEADER_BYTES + ENCODED_BYTES);
        let head_sum = self.encode_head(&mut head, crc32c);
        let data = self.payload.bytes();
        let data_sum = match data.is_empty() {
            true => Bytes::new(),
            false => Bytes::copy_from_slice(&crc32c(head_sum, &data).to_le_bytes()),
        };
        [Bytes::from(head), data, data_sum]
    }

    /// Encodes head and body into a reusable buffer. Returns the checksum that the checksum of the
    /// data continues.
    pub fn encode_head(&self, into: &mut Vec<u8>, crc32c: Crc32c) -> u32 {
        into.clear();
        into.resize(HEADER_BYTES, 0);
        *into = self.body.encode_after(core::mem::take(into));
        let Some((head, body)) = into.split_at_mut_checked(HEADER_BYTES) else {
            return 0;
        };
        let mut raw = raw_header(&self.header, body.len(), self.payload.len());
        let head_sum = checksum(crc32c, &raw, body);
        raw.crc32c = U32::new(head_sum);
        head.copy_from_slice(raw.as_bytes());
        head_sum
    }

    /// Decodes the lengths in a head, so that the caller can allocate buffers for the rest.
    pub fn lengths(head: &[u8; HEADER_BYTES]) -> Result<Lengths, DecodeError> {
        let raw = RawHeader::read_from_bytes(head).map_err(|_| DecodeError::Truncated)?;
        check_bounds(&raw)
    }

    /// Decodes a message. The receiver of the payload must have verified the payload's checksum.
    pub fn decode(
        head: &[u8; HEADER_BYTES],
        body: &[u8],
        payload: Payload,
        crc32c: Crc32c,
    ) -> Result<Self, DecodeError> {
        let mut raw = RawHeader::read_from_bytes(head).map_err(|_| DecodeError::Truncated)?;
        let lengths = check_bounds(&raw)?;
        if lengths.body_bytes != body.len() || lengths.payload_bytes != payload.len() {
            return Err(DecodeError::Truncated);
        }
        let sent = core::mem::take(&mut raw.crc32c).get();
        if sent != checksum(crc32c, &raw, body) {
            return Err(DecodeError::Checksum);
        }
        let header = header(&raw)?;
        Ok(Self {
            header,
            body: Body::decode(header.kind, body)?,
            payload,
        })
    }
}

fn check_bounds(raw: &RawHeader) -> Result<Lengths, DecodeError> {
    if raw.magic.get() != MAGIC {
        return Err(DecodeError::Magic(raw.magic.get()));
    }
    if raw.version.get() != VERSION {
        return Err(DecodeError::Version(raw.version.get()));
    }
    if raw.payload_place != PAYLOAD_INLINE {
        return Err(DecodeError::Field("place of data", raw.payload_place));
    }
    let (body, payload) = (raw.body_bytes.get(), raw.payload_bytes.get());
    if body as usize > limits::BODY_BYTES {
        return Err(DecodeError::Length("a body", body));
    }
    if payload as usize > limits::PAYLOAD_BYTES {
        return Err(DecodeError::Length("data", payload));
    }
    Ok(Lengths {
        body_bytes: body as usize,
        payload_bytes: payload as usize,
        data_sum_bytes: if payload == 0 { 0 } else { DATA_SUM_BYTES },
        head_sum: raw.crc32c.get(),
    })
}

fn checksum(crc32c: Crc32c, raw: &RawHeader, body: &[u8]) -> u32 {
    crc32c(crc32c(0, raw.as_bytes()), body)
}

fn raw_header(header: &Header, body_bytes: usize, payload_bytes: usize) -> RawHeader {
    RawHeader {
        magic: U32::new(MAGIC),
        version: U16::new(VERSION),
        kind: header.kind as u8,
        payload_place: PAYLOAD_INLINE,
        server: U16::new(header.server.0),
        reserved: U16::new(0),
        body_bytes: U32::new(body_bytes as u32),
        payload_bytes: U32::new(payload_bytes as u32),
        crc32c: U32::new(0),
        session: U64::new(header.session.0),
        sequence: U64::new(header.sequence),
        acknowledged: U64::new(header.acknowledged),
        clock: U64::new(header.clock.0),
        map_epoch: U32::new(header.map_epoch),
        features: U32::new(header.features),
    }
}

fn header(raw: &RawHeader) -> Result<Header, DecodeError> {
    let kind = match raw.kind {
        0 => MessageKind::Request,
        1 => MessageKind::Outcome,
        2 => MessageKind::Peer,
        3 => MessageKind::PeerAnswer,
        4 => MessageKind::Push,
        5 => MessageKind::CacheRequest,
        6 => MessageKind::CacheReply,
        other => return Err(DecodeError::Field("kind", other)),
    };
    Ok(Header {
        kind,
        server: ServerId(raw.server.get()),
        session: SessionId(raw.session.get()),
        sequence: raw.sequence.get(),
        acknowledged: raw.acknowledged.get(),
        clock: Time(raw.clock.get()),
        map_epoch: raw.map_epoch.get(),
        features: raw.features.get(),
    })
}
