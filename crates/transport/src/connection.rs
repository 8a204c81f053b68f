//! A proven connection, on which messages are received and sent.

use crate::{
    Channel, LedSocket,
    checksum::crc32c_append,
    decoder::{Decoder, IDLE_BUFFER_BYTES},
    fabric::FabricStream,
    large,
};
use atomic_refcell::AtomicRefCell;
use bytes::{Buf, Bytes};
use futago_wire::{DecodeError, Frame, codec::DATA_SUM_BYTES};
use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd},
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

/// How long a message may take from its first byte to its last, and how long a peer may leave sent
/// bytes unread.
pub const STALL_DEADLINE: Duration = Duration::from_secs(60);
/// The most bytes of one read from a socket.
const SOCKET_READ_BYTES: usize = 64 << 10;
/// The most bytes of one read from shared memory. Most messages fit. Of a larger message it covers
/// little more than the head, so that the data is copied only once.
const MEMORY_READ_BYTES: usize = 4 << 10;
/// The bytes of data that are moved at once, few enough to stay in the CPU caches from the copy to
/// the checksum.
const PART_BYTES: usize = 64 << 10;
/// The bytes after which other connections are served: a chunk of 1 MiB with its head and its
/// checksum.
const BATCH_BYTES: usize = (1 << 20) + MEMORY_READ_BYTES;
/// The most pieces of one gathered write.
const SLICES: usize = 64;

thread_local! {
    /// One buffer for all connections of a thread, so that an idle connection takes no memory.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SOCKET_READ_BYTES].into());
}

/// The reason why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer closed it.
    #[error("the peer closed the connection")]
    Closed,
    /// The peer closed it within a message.
    #[error("the peer closed the connection within a message")]
    Truncated,
    /// The peer exceeded a deadline.
    #[error("the peer was stuck within a message for {} s", STALL_DEADLINE.as_secs())]
    Stalled,
    /// The peer sent invalid bytes.
    #[error("the peer sent bytes that are no message: {0}")]
    Decode(#[from] DecodeError),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Memory for incoming large messages, shared by all connections of a process.
///
/// A message waits until memory is free. A slow sender is disconnected, so that its memory is
/// freed.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Semaphore>);

/// One permit of a budget, in bytes.
const PERMIT_BYTES: usize = 1 << 10;

impl Budget {
    /// A budget of about this many bytes, at least enough for one message.
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
/// Threads may share them, but calls must not overlap: a call panics while another thread is within
/// a call. A waiting thread is not within a call.
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

/// The received part of incomplete messages.
#[derive(Debug, Default)]
struct Incoming {
    decoder: Decoder,
    permit: Option<OwnedSemaphorePermit>,
    /// The bytes after the head of a message that had to wait for memory.
    left: Vec<u8>,
    /// When the current message must be complete.
    deadline: Option<Instant>,
    /// The total number of bytes received.
    received_bytes: u64,
    /// The error that ended the connection, reported after the messages before it.
    failure: Option<ConnectionError>,
}

impl Receiver {
    /// Waits for messages and adds all that have arrived to `frames`. Only one caller may wait at a
    /// time.
    ///
    /// # Errors
    /// The connection has ended, and all messages before its end have been received.
    pub async fn receive(&self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        let before = frames.len();
        loop {
            self.receive_available(frames, None)?;
            if frames.len() > before {
                return Ok(());
            }
            self.wait().await?;
        }
    }

    /// Adds all messages that have arrived to `frames`, without waiting.
    ///
    /// # Errors
    /// As [`Receiver::receive`].
    pub fn try_receive(&self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        self.receive_available(frames, Some(&self.budget))
    }

    /// Adds all messages that have arrived. Without a budget it stops at a large message, which
    /// must first wait for its queue position.
    fn receive_available(
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

    /// The total number of bytes that have arrived, also of messages that are not complete.
    pub fn received_bytes(&self) -> u64 {
        self.incoming.borrow().received_bytes
    }

    /// Whether a thread can poll for messages.
    pub fn can_be_polled(&self) -> bool {
        let channel = &*self.channel;
        let is_memory = matches!(channel, Channel::Memory(_));
        is_memory || channel.led().is_some() || channel.fabric().is_some()
    }

    /// Whether a message waits for its queue position and for memory.
    pub fn waits_for_memory(&self) -> bool {
        self.incoming.borrow().decoder.wanted_bytes().is_some()
    }

    /// Whether there are bytes that were taken from the socket and not handled yet.
    pub fn has_taken(&self) -> bool {
        matches!(&*self.channel, Channel::Secure(stream) if stream.has_opened())
    }

    /// The socket that a thread can wait for; `None` if messages arrive through shared memory or a
    /// fabric.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.channel.led().map(AsFd::as_fd)
    }

    /// From now until [`Receiver::stop_polling`], the caller polls [`Receiver::try_receive`] and
    /// [`Sender::flush`]. Tasks that wait for messages do not poll meanwhile.
    pub fn start_polling(&self) {
        match &*self.channel {
            Channel::Memory(stream) => stream.start_polling(),
            channel => {
                channel.led().into_iter().for_each(LedSocket::start_leading);
                channel
                    .fabric()
                    .into_iter()
                    .for_each(FabricStream::start_polling);
            }
        }
    }

    /// Leaves available and future bytes to waiting tasks. [`Sender::flush`] must follow.
    pub fn stop_polling(&self) {
        let has_begun = self.incoming.borrow().deadline.is_some();
        match &*self.channel {
            Channel::Memory(stream) => stream.stop_polling(has_begun),
            channel => {
                let is_needed = has_begun || self.waits_for_memory() || self.has_taken();
                let led = channel.led().into_iter();
                led.for_each(|socket| socket.stop_leading(is_needed));
                let fabric = channel.fabric().into_iter();
                fabric.for_each(|stream| stream.stop_polling(is_needed));
            }
        }
    }

    /// Waits for queue position and memory, or for bytes. The wake-up may be spurious, because
    /// another thread may receive the bytes.
    async fn wait(&self) -> Result<(), ConnectionError> {
        let (wanted, deadline) = {
            let incoming = self.incoming.borrow();
            (incoming.decoder.wanted_bytes(), incoming.deadline)
        };
        let wait = async {
            match wanted {
                Some(bytes) => {
                    large::wait_in_queue().await;
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

    /// Whether the deadline of the current message has passed.
    fn is_stalled(&self) -> bool {
        let deadline = self.incoming.borrow().deadline;
        deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

impl Incoming {
    /// Lets a large message continue, unless it may already.
    fn grant(&mut self, permit: Option<OwnedSemaphorePermit>) {
        if self.decoder.wanted_bytes().is_some() {
            self.permit = permit;
            self.decoder.grant();
        }
    }

    /// Starts or ends the deadline of the current message. It does not run while the message waits
    /// for memory, because that is not the peer's fault.
    fn watch_message(&mut self) {
        if !self.decoder.is_within_message() || self.decoder.wanted_bytes().is_some() {
            self.deadline = None;
        } else if self.deadline.is_none() {
            self.deadline = Some(Instant::now() + STALL_DEADLINE);
        }
    }

    /// Whether the current message may continue; a large message needs memory.
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
        let mut batch_bytes = 0;
        while batch_bytes < BATCH_BYTES && self.has_memory(budget) {
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
                Ok(count) => {
                    batch_bytes += count;
                    self.received_bytes += count as u64;
                }
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
        if let Some(mut room) = self.decoder.payload_room(PART_BYTES) {
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

    /// Decodes bytes that were read.
    fn take(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        while let Some(frame) = self.decoder.decode(&mut bytes)? {
            if self.permit.take().is_some() {
                large::received();
            }
            self.deadline = None;
            frames.push(frame);
        }
        self.left = bytes.to_vec();
        Ok(())
    }
}

/// The outgoing direction. Queued messages leave with the next [`Sender::flush`], in few writes.
#[derive(Debug)]
pub struct Sender {
    channel: Arc<Channel>,
    queue: AtomicRefCell<Queue>,
    wake: Notify,
    /// Notifies the task that waits for room when bytes are sent.
    taken: Notify,
    closed: AtomicBool,
}

/// The bytes that the peer has not taken yet.
#[derive(Debug, Default)]
struct Queue {
    pieces: VecDeque<Piece>,
    bytes: usize,
    /// The total number of bytes sent.
    taken_bytes: u64,
    /// A reusable buffer for the heads of messages that leave at once.
    head: Vec<u8>,
}

/// A piece of queued messages.
#[derive(Debug)]
enum Piece {
    /// Bytes to send as they are.
    Plain(Bytes),
    /// The rest of a message's data, and the checksum of all before it. The data is checksummed as
    /// it is sent, so that it passes the CPU caches once.
    Data { rest: Bytes, sum: u32 },
}

impl Piece {
    /// The bytes to send next.
    fn next_bytes(&self) -> &[u8] {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Data { rest, .. } => &rest[..rest.len().min(PART_BYTES)],
        }
    }

    const fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. })
    }
}

impl Sender {
    /// Queues a message, or sends it at once through shared memory. A write to shared memory is
    /// cheap, and the peer starts while this end continues. Returns whether the message waits for
    /// [`Sender::flush`].
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

    /// Queues a message.
    pub fn queue(&self, frame: &Frame) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let mut queue = self.queue.borrow_mut();
        if frame.payload.len() > PART_BYTES {
            let mut head = Vec::new();
            let sum = frame.encode_head(&mut head, crc32c_append);
            queue.push(head.into());
            return queue.push_data(frame.payload.bytes(), sum);
        }
        for piece in frame.encode(crc32c_append) {
            queue.push(piece);
        }
    }

    /// The number of bytes that the peer has not taken yet.
    pub fn queued_bytes(&self) -> usize {
        self.queue.borrow().bytes
    }

    /// The total number of bytes that the peer's system has confirmed, and whether more are on the
    /// way.
    pub fn confirmed_bytes(&self) -> (u64, bool) {
        let queue = self.queue.borrow();
        let unconfirmed = self.channel.unconfirmed_bytes().unwrap_or(0) as u64;
        let confirmed = queue.taken_bytes.saturating_sub(unconfirmed);
        (confirmed, unconfirmed > 0 || queue.bytes > 0)
    }

    /// Waits until at most this many bytes are queued. Only one caller may wait at a time.
    pub async fn room(&self, most_bytes: usize) {
        while self.queued_bytes() > most_bytes {
            self.taken.notified().await;
        }
    }

    /// Writes the bytes that fit now. [`Sender::drive`] or the polling thread writes the rest.
    pub fn flush(&self) {
        if self.write_all().is_err() || self.queued_bytes() > 0 && !self.channel.is_polled() {
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

    /// Writes queued bytes whenever there is room again, until the connection ends. It must run
    /// beside the receiver.
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
                // Another thread may have written in the meantime.
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
            self.pieces.push_back(Piece::Plain(piece));
        }
    }

    /// Queues data, and its checksum after it.
    fn push_data(&mut self, rest: Bytes, sum: u32) {
        if !rest.is_empty() {
            self.bytes += rest.len() + DATA_SUM_BYTES;
            self.pieces.push_back(Piece::Data { rest, sum });
        }
    }

    /// Writes the part of a message that fits, and queues the rest. The queue must be empty. An
    /// error of the channel is reported when the rest is written.
    fn write_or_queue(&mut self, frame: &Frame, channel: &Channel) {
        let mut head = std::mem::take(&mut self.head);
        let mut sum = frame.encode_head(&mut head, crc32c_append);
        let mut data = frame.payload.bytes();
        let mut before = &head[..];
        while data.len() > PART_BYTES && self.bytes == 0 {
            let part = data.split_to(PART_BYTES);
            sum = crc32c_append(sum, &part);
            self.write_or_queue_part(before, &part, &[], channel);
            before = &[];
        }
        if self.bytes > 0 {
            self.push_data(data, sum);
            self.head = head;
            return;
        }
        let sum = (!data.is_empty()).then(|| crc32c_append(sum, &data).to_le_bytes());
        let after = sum.as_slice().as_flattened();
        self.write_or_queue_part(before, &data, after, channel);
        head.shrink_to(IDLE_BUFFER_BYTES);
        self.head = head;
    }

    /// Writes or queues a part of a message; it is queued whole if bytes precede it in the queue.
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
            // A checksum follows data, and is not known before the data is sent.
            let data = self.pieces.iter().take(SLICES).position(Piece::is_data);
            let most = data.map_or(SLICES, |at| SLICES.min(at + 1));
            let count = self.pieces.len().min(most);
            for (slice, piece) in slices[..count].iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(piece.next_bytes());
            }
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

    /// Removes written bytes from the front of the queue.
    fn forget(&mut self, mut written: usize) {
        self.bytes -= written;
        self.taken_bytes += written as u64;
        while let Some(piece) = self.pieces.front_mut() {
            match piece {
                Piece::Plain(bytes) if written < bytes.len() => return bytes.advance(written),
                Piece::Plain(bytes) => {
                    written -= bytes.len();
                    self.pieces.pop_front();
                }
                Piece::Data { rest, sum } => {
                    let part = rest.split_to(written.min(rest.len()));
                    *sum = crc32c_append(*sum, &part);
                    written -= part.len();
                    if !rest.is_empty() {
                        return;
                    }
                    let sum = Bytes::copy_from_slice(&sum.to_le_bytes());
                    *piece = Piece::Plain(sum);
                }
            }
        }
    }
}
