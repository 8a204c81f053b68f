//! A proven connection: messages in, messages out.

use crate::{
    Channel,
    checksum::crc32c_append,
    decoder::{Decoder, KEPT_BYTES},
    large,
};
use atomic_refcell::AtomicRefCell;
use bytes::{Buf, Bytes};
use futago_wire::{DecodeError, Frame};
use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, IoSlice},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

/// How long a message may take from its first byte to its last, and how long a peer may leave what
/// is sent to it unread.
pub const STALL_DEADLINE: Duration = Duration::from_secs(60);
/// How much is read at once from a socket, in bytes.
const SOCKET_READ_BYTES: usize = 64 << 10;
/// How much is read at once from memory, in bytes: most messages, and of others little more than the head, so that
/// data is copied once.
const MEMORY_READ_BYTES: usize = 4 << 10;
/// How much data is moved through memory at once, in bytes: little enough to be in the caches still when it is summed up.
const MEMORY_PART_BYTES: usize = 64 << 10;
/// After so many bytes others get their turn: after a chunk of 1 MiB with its head and its checksum.
const TURN_BYTES: usize = (1 << 20) + MEMORY_READ_BYTES;
/// How many pieces one write gathers.
const SLICES: usize = 64;

thread_local! {
    /// One for all connections of a thread, so that an idle connection takes no memory.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SOCKET_READ_BYTES].into());
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer closed it.
    #[error("the peer closed the connection")]
    Closed,
    /// The peer closed it within a message.
    #[error("the peer closed the connection within a message")]
    Truncated,
    /// The peer is too slow.
    #[error("the peer was stuck within a message for {} s", STALL_DEADLINE.as_secs())]
    Stalled,
    /// The peer sends nonsense.
    #[error("the peer sent bytes that are no message: {0}")]
    Decode(#[from] DecodeError),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Memory for large messages on their way in, shared by all connections of a process. Who finds none
/// waits; who sends too slowly is cut off, so that it comes back.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Semaphore>);

/// One permit of a budget, in bytes.
const PERMIT_BYTES: usize = 1 << 10;

impl Budget {
    /// A budget of about so many bytes, at least enough for one message.
    pub fn new(bytes: usize) -> Self {
        let least = futago_base::limits::PAYLOAD_BYTES + futago_base::limits::BODY_BYTES;
        Self(Arc::new(Semaphore::new(bytes.max(least) / PERMIT_BYTES)))
    }

    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = Self::permits(bytes);
        self.0.clone().acquire_many_owned(permits).await.ok()
    }

    fn try_take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = Self::permits(bytes);
        self.0.clone().try_acquire_many_owned(permits).ok()
    }

    const fn permits(bytes: usize) -> u32 {
        (bytes / PERMIT_BYTES) as u32
    }
}

/// The two directions of a connection.
///
/// Threads may share them, if they take turns: whoever calls while another thread is within a call
/// panics. A thread that waits is within none.
pub fn split(channel: impl Into<Channel>, budget: Budget) -> (Receiver, Arc<Sender>) {
    let channel = Arc::new(channel.into());
    let receiver = Receiver {
        channel: channel.clone(),
        budget,
        incoming: AtomicRefCell::default(),
    };
    let sender = Sender {
        channel,
        queue: AtomicRefCell::default(),
        wake: Notify::new(),
        taken: Notify::new(),
        closed: AtomicBool::new(false),
    };
    (receiver, Arc::new(sender))
}

/// The incoming direction.
#[derive(Debug)]
pub struct Receiver {
    channel: Arc<Channel>,
    budget: Budget,
    incoming: AtomicRefCell<Incoming>,
}

/// What has come in of messages that are not complete.
#[derive(Debug, Default)]
struct Incoming {
    decoder: Decoder,
    permit: Option<OwnedSemaphorePermit>,
    /// What was read beyond the head of a message that had to wait for memory.
    left: Vec<u8>,
    /// When the message that has begun must be complete.
    deadline: Option<Instant>,
    /// What ended the connection, after messages that are to be handled first.
    failure: Option<ConnectionError>,
}

impl Receiver {
    /// Waits for messages and adds all that have arrived to `frames`. One may wait at a time.
    ///
    /// # Errors
    /// The connection has ended, and all messages before have been received.
    pub async fn receive(&self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        let before = frames.len();
        loop {
            self.take_in(frames, None)?;
            if frames.len() > before {
                return Ok(());
            }
            self.wait().await?;
        }
    }

    /// Adds all messages that have arrived to `frames`, without waiting for any.
    ///
    /// # Errors
    /// As [`Receiver::receive`].
    pub fn try_receive(&self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        self.take_in(frames, Some(&self.budget))
    }

    /// The same; without a budget a large message waits for its turn first.
    fn take_in(
        &self,
        frames: &mut Vec<Frame>,
        budget: Option<&Budget>,
    ) -> Result<(), ConnectionError> {
        let mut incoming = self.incoming.borrow_mut();
        if let Some(error) = incoming.failure.take() {
            return Err(error);
        }
        let before = frames.len();
        let result = incoming.read_all(&self.channel, budget, frames);
        incoming.watch_message();
        if frames.len() > before {
            incoming.failure = result.err();
            return Ok(());
        }
        result
    }

    /// Whether the messages come through memory, so that somebody can attend to them.
    pub fn is_memory(&self) -> bool {
        matches!(&*self.channel, Channel::Memory(_))
    }

    /// From now until [`Receiver::leave`], whoever calls this calls [`Receiver::try_receive`] and
    /// [`Sender::flush`] again and again, and who waits for messages or for room does not look itself.
    pub fn attend(&self) {
        if let Channel::Memory(stream) = &*self.channel {
            stream.attend();
        }
    }

    /// Leaves to who waits what has arrived, and what is going to arrive. [`Sender::flush`] must follow.
    pub fn leave(&self) {
        if let Channel::Memory(stream) = &*self.channel {
            stream.leave(self.incoming.borrow().deadline.is_some());
        }
    }

    /// Waits for its turn and for memory, or for bytes; perhaps in vain, since another thread may receive them.
    async fn wait(&self) -> Result<(), ConnectionError> {
        let (wanted, deadline) = {
            let incoming = self.incoming.borrow();
            (incoming.decoder.wanted_bytes(), incoming.deadline)
        };
        let wait = async {
            match wanted {
                Some(bytes) => {
                    large::turn().await;
                    let permit = self.budget.take(bytes).await;
                    self.incoming.borrow_mut().grant(permit);
                    Ok(())
                }
                None => self.channel.readable().await,
            }
        };
        match deadline {
            Some(deadline) => match timeout_at(deadline, wait).await {
                Err(_) if self.is_stalled() => return Err(ConnectionError::Stalled),
                Err(_) => {}
                Ok(done) => done?,
            },
            None => wait.await?,
        }
        Ok(())
    }

    /// Whether the message that has begun should be complete by now.
    fn is_stalled(&self) -> bool {
        let deadline = self.incoming.borrow().deadline;
        deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

impl Incoming {
    /// Lets a large message go on, if it has not been let before.
    fn grant(&mut self, permit: Option<OwnedSemaphorePermit>) {
        if self.decoder.wanted_bytes().is_some() {
            self.permit = permit;
            self.decoder.grant();
        }
    }

    /// Starts or ends the deadline of the message that is on its way. It does not run while the
    /// message waits for memory, which is not the peer's fault.
    fn watch_message(&mut self) {
        if !self.decoder.is_within_message() || self.decoder.wanted_bytes().is_some() {
            self.deadline = None;
        } else if self.deadline.is_none() {
            self.deadline = Some(Instant::now() + STALL_DEADLINE);
        }
    }

    /// Whether the message that has begun may go on: a large one only with memory.
    fn has_memory(&mut self, budget: Option<&Budget>) -> bool {
        let Some(bytes) = self.decoder.wanted_bytes() else {
            return true;
        };
        let permit = budget.and_then(|budget| budget.try_take(bytes));
        let granted = permit.is_some();
        if granted {
            self.grant(permit);
        }
        granted
    }

    fn read_all(
        &mut self,
        channel: &Channel,
        budget: Option<&Budget>,
        frames: &mut Vec<Frame>,
    ) -> Result<(), ConnectionError> {
        let mut turn_bytes = 0;
        while turn_bytes < TURN_BYTES && self.has_memory(budget) {
            if !self.left.is_empty() {
                let left = std::mem::take(&mut self.left);
                self.take(&left, frames)?;
                continue;
            }
            match self.read_once(channel, frames) {
                Ok(0) if self.decoder.is_within_message() => {
                    return Err(ConnectionError::Truncated);
                }
                Ok(0) => return Err(ConnectionError::Closed),
                Ok(count) => turn_bytes += count,
                Err(ConnectionError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_once(
        &mut self,
        channel: &Channel,
        frames: &mut Vec<Frame>,
    ) -> Result<usize, ConnectionError> {
        let most_bytes = match channel {
            Channel::Stream(_) | Channel::Secure(_) => usize::MAX,
            Channel::Memory(_) => MEMORY_PART_BYTES,
        };
        if let Some(mut room) = self.decoder.payload_room(most_bytes) {
            let count = channel.try_read_buf(&mut room)?;
            self.take(&[], frames)?;
            return Ok(count);
        }
        READ_BUFFER.with_borrow_mut(|buffer| {
            let most = match channel {
                Channel::Stream(_) | Channel::Secure(_) => SOCKET_READ_BYTES,
                Channel::Memory(_) => MEMORY_READ_BYTES,
            };
            let count = channel.try_read(&mut buffer[..most])?;
            self.take(&buffer[..count], frames)?;
            Ok(count)
        })
    }

    /// Decodes what has been read.
    fn take(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        while let Some(frame) = self.decoder.decode(&mut bytes)? {
            if self.permit.take().is_some() {
                large::taken_in();
            }
            self.deadline = None;
            frames.push(frame);
        }
        self.left = bytes.to_vec();
        Ok(())
    }
}

/// The outgoing direction. What is queued leaves with the next [`Sender::flush`], in few writes.
#[derive(Debug)]
pub struct Sender {
    channel: Arc<Channel>,
    queue: AtomicRefCell<Queue>,
    wake: Notify,
    /// Tells who waits for room that something was taken.
    taken: Notify,
    closed: AtomicBool,
}

/// What waits to be taken by the peer.
#[derive(Debug, Default)]
struct Queue {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// How many bytes were taken, ever.
    taken_bytes: u64,
    /// Where messages are encoded that leave at once, so that they need no memory of their own.
    head: Vec<u8>,
}

impl Sender {
    /// Puts a message in line, and through memory sends it at once: there a write costs next to nothing,
    /// and the other end begins while this one goes on. Returns whether it waits for [`Sender::flush`].
    pub fn post(&self, frame: &Frame) -> bool {
        let waits = !matches!(&*self.channel, Channel::Memory(_));
        if waits || self.queued_bytes() > 0 {
            self.queue(frame);
        } else if !self.closed.load(Ordering::Relaxed) {
            self.queue.borrow_mut().write_or_queue(frame, &self.channel);
        }
        if !waits && self.queued_bytes() > 0 {
            self.flush();
        }
        waits
    }

    /// Puts a message in line.
    pub fn queue(&self, frame: &Frame) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let mut queue = self.queue.borrow_mut();
        for piece in frame.encode(crc32c_append) {
            queue.push(piece);
        }
    }

    /// How much waits to be taken by the peer, in bytes.
    pub fn queued_bytes(&self) -> usize {
        self.queue.borrow().bytes
    }

    /// Waits until at most so many bytes are queued. One may wait at a time.
    pub async fn room(&self, most_bytes: usize) {
        while self.queued_bytes() > most_bytes {
            self.taken.notified().await;
        }
    }

    /// Writes what the peer takes now; [`Sender::drive`] does the rest, or who attends to the channel.
    pub fn flush(&self) {
        if self.write_all().is_err() || self.queued_bytes() > 0 && !self.channel.is_attended() {
            self.wake.notify_one();
        }
    }

    fn write_all(&self) -> io::Result<()> {
        self.queue.borrow_mut().write_to(&self.channel, &self.taken)
    }

    /// Ends the connection: [`Sender::drive`] returns.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Writes what is left over whenever the peer has room again. To be run beside the receiver; it
    /// ends with the connection.
    pub async fn drive(&self) -> ConnectionError {
        loop {
            self.wake.notified().await;
            if let Err(error) = self.write_rest().await {
                return error;
            }
            if self.closed.load(Ordering::Relaxed) {
                return ConnectionError::Closed;
            }
        }
    }

    async fn write_rest(&self) -> Result<(), ConnectionError> {
        while self.queued_bytes() > 0 {
            let before = self.queue.borrow().taken_bytes;
            match timeout(STALL_DEADLINE, self.channel.writable()).await {
                Ok(writable) => writable?,
                // Another thread may have written meanwhile.
                Err(_) if self.queue.borrow().taken_bytes == before => {
                    return Err(ConnectionError::Stalled);
                }
                Err(_) => {}
            }
            self.write_all()?;
        }
        Ok(())
    }
}

impl Queue {
    fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Writes as much of a message as there is room for, and queues the rest. Nothing may be queued before. What is
    /// wrong with the channel shows when the rest is written.
    fn write_or_queue(&mut self, frame: &Frame, channel: &Channel) {
        let mut head = std::mem::take(&mut self.head);
        let mut sum = frame.encode_head(&mut head, crc32c_append);
        let mut data = frame.payload.bytes();
        let mut before = &head[..];
        while data.len() > MEMORY_PART_BYTES && self.bytes == 0 {
            let part = data.split_to(MEMORY_PART_BYTES);
            sum = crc32c_append(sum, &part);
            self.write_or_queue_part(before, &part, &[], channel);
            before = &[];
        }
        let sum = (!data.is_empty()).then(|| crc32c_append(sum, &data).to_le_bytes());
        let after = sum.as_slice().as_flattened();
        self.write_or_queue_part(before, &data, after, channel);
        head.shrink_to(KEPT_BYTES);
        self.head = head;
    }

    /// The same for a part of a message, which is queued whole behind what is queued.
    fn write_or_queue_part(
        &mut self,
        before: &[u8],
        data: &Bytes,
        after: &[u8],
        channel: &Channel,
    ) {
        let slices = [before, data, after].map(IoSlice::new);
        let written = match self.bytes {
            0 => channel.try_write_vectored(&slices).unwrap_or(0),
            _ => 0,
        };
        self.taken_bytes += written as u64;
        let of_before = written.min(before.len());
        let of_data = (written - of_before).min(data.len());
        let of_after = written - of_before - of_data;
        self.push(Bytes::copy_from_slice(&before[of_before..]));
        self.push(data.slice(of_data..));
        self.push(Bytes::copy_from_slice(&after[of_after..]));
    }

    fn write_to(&mut self, channel: &Channel, taken: &Notify) -> io::Result<()> {
        while !self.pieces.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(piece);
            }
            let count = self.pieces.len().min(SLICES);
            match channel.try_write_vectored(&slices[..count]) {
                Ok(written) => {
                    self.forget(written);
                    taken.notify_one();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what has been written from the front.
    fn forget(&mut self, mut written: usize) {
        self.bytes -= written;
        self.taken_bytes += written as u64;
        while let Some(piece) = self.pieces.front_mut() {
            if written < piece.len() {
                piece.advance(written);
                return;
            }
            written -= piece.len();
            self.pieces.pop_front();
        }
    }
}
