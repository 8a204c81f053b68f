//! A stream of bytes in messages of an endpoint.
//!
//! ```text
//! token (16 bytes)   number of the message (8 bytes)
//!                    messages with bytes that this end has taken out (8 bytes)   bytes
//! ```
//!
//! Both ends have drawn a token, and got it to the other end encrypted. Anybody may send to an
//! endpoint whose address he knows, and messages without the token are dropped. An end has at most
//! [`WINDOW`] messages with bytes on the way, so that the peer always has a buffer for them. An end
//! that has taken out half of them and has nothing to send reports it in a message without bytes.

use super::endpoint::{Endpoint, Finished};
use bytes::buf::UninitSlice;
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    mem::ManuallyDrop,
    os::fd::RawFd,
};

/// The bytes of a token.
pub const TOKEN_BYTES: usize = 16;
/// A secret of one direction.
pub type Token = [u8; TOKEN_BYTES];
/// The bytes before the content of a message.
const HEAD_BYTES: usize = TOKEN_BYTES + 2 * COUNT_BYTES;
const COUNT_BYTES: usize = size_of::<u64>();
/// The most messages with bytes in one direction that the peer has not taken out.
const WINDOW: usize = 64;
/// Of messages without bytes, at most two are on the way for each window, and one begins.
const RECEIVE_BUFFERS: usize = WINDOW + 4;
/// One is left for a message without bytes.
const SEND_BUFFERS: usize = WINDOW + 1;

/// The number of buffers of an endpoint.
pub const BUFFERS: usize = RECEIVE_BUFFERS + SEND_BUFFERS;

/// Both directions of a connection.
pub struct Wire {
    endpoint: ManuallyDrop<Endpoint>,
    /// Whether the endpoint must stay open for the peer's sake.
    is_leaked: bool,
    /// The peer writes it before its messages.
    incoming_token: Token,
    /// This end writes it before its messages.
    outgoing_token: Token,
    /// Received messages whose bytes are not all read.
    arrived: VecDeque<Arrived>,
    /// Buffers to receive into, once the provider takes them.
    unposted: Vec<usize>,
    free: Vec<usize>,
    /// Messages with bytes that were sent.
    sent: u64,
    /// Those of them that the peer has taken out.
    confirmed: u64,
    /// Messages with bytes that were taken out here.
    taken: u64,
    /// As far as the peer knows.
    reported: u64,
    /// All messages of the peer that have arrived.
    heard: u64,
    /// The number of the last message that was sent.
    last_number: u64,
    /// Whether the provider has taken no message since one left.
    is_full: bool,
    /// The error that has ended the connection.
    failure: Option<(io::ErrorKind, String)>,
}

/// A received message.
struct Arrived {
    index: usize,
    /// The bytes that were read, with the head.
    read: usize,
    bytes: usize,
}

impl Wire {
    /// Uses an endpoint with [`BUFFERS`] to exchange messages with the peer at an address.
    ///
    /// # Errors
    /// The endpoint is broken, or it is no address.
    pub fn new(
        mut endpoint: Endpoint,
        peer: &[u8],
        incoming_token: Token,
        outgoing_token: Token,
    ) -> io::Result<Self> {
        endpoint.set_peer(peer)?;
        let mut wire = Self {
            is_leaked: endpoint.is_used_by(peer),
            endpoint: ManuallyDrop::new(endpoint),
            incoming_token,
            outgoing_token,
            arrived: VecDeque::new(),
            unposted: (0..RECEIVE_BUFFERS).collect(),
            free: (RECEIVE_BUFFERS..BUFFERS).collect(),
            sent: 0,
            confirmed: 0,
            taken: 0,
            reported: 0,
            heard: 0,
            last_number: 0,
            is_full: false,
            failure: None,
        };
        wire.post()?;
        Ok(wire)
    }

    /// The descriptor to wait for; `None` if the provider has none.
    pub fn wait_descriptor(&self) -> Option<RawFd> {
        self.endpoint.wait_descriptor()
    }

    /// Whether the descriptor will report what comes next.
    pub fn may_block(&mut self) -> bool {
        self.endpoint.may_block()
    }

    /// The number of messages of the peer that have arrived.
    pub const fn heard(&self) -> u64 {
        self.heard
    }

    /// The number of messages that were sent.
    pub const fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Whether there are bytes to read.
    pub fn has_bytes(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether a message with bytes can be sent.
    pub const fn has_room(&self) -> bool {
        !self.is_full && self.free.len() > 1 && self.sent - self.confirmed < WINDOW as u64
    }

    /// Whether the provider takes no messages for now.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Has the provider work, and takes the messages that have arrived.
    ///
    /// # Errors
    /// The connection is broken, or the peer violates the protocol. The error occurs again.
    pub fn progress(&mut self) -> io::Result<()> {
        if let Some((kind, text)) = &self.failure {
            return Err(io::Error::new(*kind, text.clone()));
        }
        let progress = self.try_progress();
        self.failure = progress
            .as_ref()
            .err()
            .map(|error| (error.kind(), error.to_string()));
        progress
    }

    fn try_progress(&mut self) -> io::Result<()> {
        let mut received = Vec::new();
        let free_before = self.free.len();
        let (unposted, free) = (&mut self.unposted, &mut self.free);
        self.endpoint.poll(|finished| match finished {
            Finished::Received { index, bytes } => received.push((index, bytes)),
            Finished::TooLong { index } => unposted.push(index),
            Finished::Sent { index } => free.push(index),
        })?;
        self.is_full &= self.free.len() == free_before && free_before < SEND_BUFFERS;
        for (index, bytes) in received {
            self.take(index, bytes)?;
        }
        self.post()?;
        if self.taken - self.reported >= WINDOW as u64 / 2 {
            self.send_head()?;
        }
        Ok(())
    }

    /// Takes a message that has arrived, unless it is a stranger's.
    fn take(&mut self, index: usize, bytes: usize) -> io::Result<()> {
        let head = Head::of(&self.endpoint.bytes(index)[..bytes]);
        let Some(head) = head.filter(|head| head.token == self.incoming_token) else {
            self.unposted.push(index);
            return Ok(());
        };
        if head.number != self.heard {
            return Err(invalid(
                "a message was lost, repeated or moved on the fabric",
            ));
        }
        if !(self.confirmed..=self.sent).contains(&head.taken) {
            return Err(invalid(
                "the peer confirms what was not sent over the fabric",
            ));
        }
        self.confirmed = head.taken;
        self.heard += 1;
        match bytes {
            HEAD_BYTES => self.unposted.push(index),
            _ => self.arrived.push_back(Arrived {
                index,
                read: HEAD_BYTES,
                bytes,
            }),
        }
        Ok(())
    }

    /// Has the next messages arrive in the buffers that are free for it.
    fn post(&mut self) -> io::Result<()> {
        while let Some(&index) = self.unposted.last() {
            if !self.endpoint.receive(index)? {
                break;
            }
            self.unposted.pop();
        }
        Ok(())
    }

    /// Sends a message without bytes. Returns false if the provider takes none now.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn send_head(&mut self) -> io::Result<bool> {
        match self.free.pop() {
            Some(index) => self.send(index, HEAD_BYTES),
            None => Ok(false),
        }
    }

    fn send(&mut self, index: usize, bytes: usize) -> io::Result<bool> {
        let head = Head {
            token: self.outgoing_token,
            number: self.last_number,
            taken: self.taken,
        };
        head.write(self.endpoint.bytes_mut(index));
        if !self.endpoint.send(index, bytes)? {
            self.free.push(index);
            self.is_full = true;
            return Ok(false);
        }
        self.reported = self.taken;
        self.last_number += 1;
        Ok(true)
    }

    /// Sends as much of the pieces as there is room for, and returns the number of bytes.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn write(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut rest = Pieces::new(from);
        let mut written = 0;
        while !rest.is_empty() && self.has_room() {
            let Some(index) = self.free.pop() else { break };
            let mut ahead = rest;
            let bytes = ahead.fill(&mut self.endpoint.bytes_mut(index)[HEAD_BYTES..]);
            if !self.send(index, HEAD_BYTES + bytes)? {
                break;
            }
            self.sent += 1;
            written += bytes;
            rest = ahead;
        }
        Ok(written)
    }

    /// Reads bytes that have arrived to the front of `into`, and returns their number.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn read(&mut self, into: &mut UninitSlice) -> io::Result<usize> {
        let mut count = 0;
        while let Some(next) = self.arrived.front_mut().filter(|_| count < into.len()) {
            let message = &self.endpoint.bytes(next.index)[next.read..next.bytes];
            let part = message.len().min(into.len() - count);
            into[count..count + part].copy_from_slice(&message[..part]);
            count += part;
            next.read += part;
            if next.read == next.bytes {
                self.unposted.push(next.index);
                self.arrived.pop_front();
                self.taken += 1;
            }
        }
        Ok(count)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: the endpoint is not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.endpoint) };
        }
    }
}

/// The first bytes of a message.
struct Head {
    token: Token,
    number: u64,
    taken: u64,
}

impl Head {
    /// The head of a message; `None` if it is too short.
    fn of(message: &[u8]) -> Option<Self> {
        let (token, rest) = message.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk::<COUNT_BYTES>()?;
        let taken = rest.first_chunk()?;
        Some(Self {
            token: *token,
            number: u64::from_le_bytes(*number),
            taken: u64::from_le_bytes(*taken),
        })
    }

    fn write(&self, into: &mut [u8]) {
        let (token, counts) = into[..HEAD_BYTES].split_at_mut(TOKEN_BYTES);
        token.copy_from_slice(&self.token);
        counts[..COUNT_BYTES].copy_from_slice(&self.number.to_le_bytes());
        counts[COUNT_BYTES..].copy_from_slice(&self.taken.to_le_bytes());
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The rest of some pieces.
#[derive(Clone, Copy)]
struct Pieces<'a> {
    pieces: &'a [IoSlice<'a>],
    /// The bytes of the first piece that are gone.
    offset: usize,
}

impl<'a> Pieces<'a> {
    fn new(pieces: &'a [IoSlice<'a>]) -> Self {
        let mut all = Self { pieces, offset: 0 };
        all.skip_empty();
        all
    }

    const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn skip_empty(&mut self) {
        while let [first, rest @ ..] = self.pieces
            && first.len() == self.offset
        {
            self.pieces = rest;
            self.offset = 0;
        }
    }

    /// Moves bytes to the front of `into`, and returns their number.
    fn fill(&mut self, into: &mut [u8]) -> usize {
        let mut count = 0;
        while let Some(first) = self.pieces.first().filter(|_| count < into.len()) {
            let piece = &first[self.offset..];
            let part = piece.len().min(into.len() - count);
            into[count..count + part].copy_from_slice(&piece[..part]);
            count += part;
            self.offset += part;
            self.skip_empty();
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Provider, fabric::memory::BUFFER_BYTES};

    fn endpoint(provider: &Provider) -> Endpoint {
        let local = Some(std::net::Ipv4Addr::LOCALHOST.into());
        Endpoint::open(provider, local, BUFFERS).unwrap()
    }

    fn write_all(from: &mut Wire, to: &mut Wire, bytes: &[u8]) {
        while from.write(&[IoSlice::new(bytes)]).unwrap() == 0 {
            from.progress().unwrap();
            to.progress().unwrap();
        }
    }

    fn next(wire: &mut Wire, others: &mut [&mut Wire]) -> Vec<u8> {
        while !wire.has_bytes() {
            wire.progress().unwrap();
            others
                .iter_mut()
                .for_each(|other| other.progress().unwrap());
        }
        let mut bytes = [0; 100];
        let count = wire.read(UninitSlice::new(&mut bytes)).unwrap();
        bytes[..count].to_vec()
    }

    #[test]
    fn messages_of_strangers_are_dropped() {
        for name in ["tcp", "shm"] {
            let provider = name.parse().unwrap();
            let [a, b, stranger] = [(); 3].map(|()| endpoint(&provider));
            let [to_a, to_b] = [&a, &b].map(|end| end.address().unwrap());
            let mut a = Wire::new(a, &to_b, [1; TOKEN_BYTES], [2; TOKEN_BYTES]).unwrap();
            let mut b = Wire::new(b, &to_a, [2; TOKEN_BYTES], [1; TOKEN_BYTES]).unwrap();
            let mut stranger =
                Wire::new(stranger, &to_b, [3; TOKEN_BYTES], [4; TOKEN_BYTES]).unwrap();
            let all_buffers = vec![5; WINDOW * BUFFER_BYTES];
            write_all(&mut stranger, &mut b, &all_buffers);
            write_all(&mut a, &mut b, b"hello");
            assert_eq!(next(&mut b, &mut [&mut a, &mut stranger]), b"hello");
            assert_eq!(b.heard(), 1);
        }
    }

    #[test]
    fn impossible_counts_end_the_connection() {
        let confirms_too_much = |wire: &mut Wire| wire.taken = 1;
        let leaves_one_out = |wire: &mut Wire| wire.last_number = 1;
        for violate in [confirms_too_much as fn(&mut Wire), leaves_one_out] {
            let provider = "tcp".parse().unwrap();
            let (a, b) = (endpoint(&provider), endpoint(&provider));
            let [to_a, to_b] = [&a, &b].map(|end| end.address().unwrap());
            let mut a = Wire::new(a, &to_b, [1; TOKEN_BYTES], [2; TOKEN_BYTES]).unwrap();
            let mut b = Wire::new(b, &to_a, [2; TOKEN_BYTES], [1; TOKEN_BYTES]).unwrap();
            violate(&mut a);
            write_all(&mut a, &mut b, b"hello");
            while b.progress().is_ok() {
                a.progress().unwrap();
            }
            let again = b.progress().unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::InvalidData);
            assert!(!b.has_bytes());
        }
    }

    #[test]
    fn an_end_survives_the_other_one_in_the_same_process() {
        for name in ["tcp", "shm"] {
            let provider = name.parse().unwrap();
            let (a, b) = (endpoint(&provider), endpoint(&provider));
            let [to_a, to_b] = [&a, &b].map(|end| end.address().unwrap());
            let mut a = Wire::new(a, &to_b, [1; TOKEN_BYTES], [2; TOKEN_BYTES]).unwrap();
            let mut b = Wire::new(b, &to_a, [2; TOKEN_BYTES], [1; TOKEN_BYTES]).unwrap();
            write_all(&mut a, &mut b, b"hello");
            drop(b);
            for _ in 0..1000 {
                // It fails, or finds no more room.
                let _ = a.write(&[IoSlice::new(&[7; 10_000])]);
                let _ = a.progress();
            }
        }
    }
}
