//! A proven connection: messages in, messages out.

use crate::{Channel, decoder::Decoder};
use bytes::{Buf, Bytes};
use futago_wire::{DecodeError, Frame};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io::{self, IoSlice},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

/// How long a message may take from its first byte to its last, and how long a peer may leave what
/// is sent to it unread.
pub const STALL_DEADLINE: Duration = Duration::from_secs(60);
/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;
/// After so many bytes others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// How many pieces one write gathers.
const SLICES: usize = 64;

thread_local! {
    /// One for all connections of a thread, so that an idle connection takes no memory.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
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
        let permits = (bytes / PERMIT_BYTES) as u32;
        self.0.clone().acquire_many_owned(permits).await.ok()
    }
}

/// The two directions of a connection.
pub fn split(channel: impl Into<Channel>, budget: Budget) -> (Receiver, Rc<Sender>) {
    let channel = Rc::new(channel.into());
    let receiver = Receiver {
        channel: channel.clone(),
        decoder: Decoder::default(),
        budget,
        permit: None,
        left: Vec::new(),
        deadline: None,
        failure: None,
    };
    let sender = Sender {
        channel,
        queue: RefCell::default(),
        queued_bytes: Cell::new(0),
        wake: Notify::new(),
        taken: Notify::new(),
        closed: Cell::new(false),
    };
    (receiver, Rc::new(sender))
}

/// The incoming direction.
#[derive(Debug)]
pub struct Receiver {
    channel: Rc<Channel>,
    decoder: Decoder,
    budget: Budget,
    permit: Option<OwnedSemaphorePermit>,
    /// What was read beyond the head of a message that had to wait for memory.
    left: Vec<u8>,
    /// When the message that has begun must be complete.
    deadline: Option<Instant>,
    /// What ended the connection, after messages that are to be handled first.
    failure: Option<ConnectionError>,
}

impl Receiver {
    /// Waits for messages and adds all that have arrived to `frames`.
    ///
    /// # Errors
    /// The connection has ended, and all messages before have been received.
    pub async fn receive(&mut self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        let before = frames.len();
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        loop {
            let result = self.read_all(frames);
            self.watch_message();
            if frames.len() > before {
                self.failure = result.err();
                return Ok(());
            }
            result?;
            self.wait().await?;
        }
    }

    /// Waits for memory or for bytes.
    async fn wait(&mut self) -> Result<(), ConnectionError> {
        let deadline = self.deadline;
        let wait = async {
            match self.decoder.wanted_bytes() {
                Some(bytes) => {
                    self.permit = self.budget.take(bytes).await;
                    self.decoder.grant();
                    Ok(())
                }
                None => self.channel.readable().await,
            }
        };
        match deadline {
            Some(deadline) => timeout_at(deadline, wait)
                .await
                .map_err(|_| ConnectionError::Stalled)??,
            None => wait.await?,
        }
        Ok(())
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

    fn read_all(&mut self, frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        let left = std::mem::take(&mut self.left);
        self.take(&left, frames)?;
        let mut turn_bytes = 0;
        while turn_bytes < TURN_BYTES && self.decoder.wanted_bytes().is_none() {
            match self.read_once(frames) {
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

    fn read_once(&mut self, frames: &mut Vec<Frame>) -> Result<usize, ConnectionError> {
        if let Some(mut room) = self.decoder.payload_room() {
            let count = self.channel.try_read_buf(&mut room)?;
            self.take(&[], frames)?;
            return Ok(count);
        }
        READ_BUFFER.with_borrow_mut(|buffer| {
            let count = self.channel.try_read(buffer)?;
            self.take(&buffer[..count], frames)?;
            Ok(count)
        })
    }

    /// Decodes what has been read.
    fn take(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ConnectionError> {
        while let Some(frame) = self.decoder.decode(&mut bytes)? {
            self.permit = None;
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
    channel: Rc<Channel>,
    queue: RefCell<VecDeque<Bytes>>,
    queued_bytes: Cell<usize>,
    wake: Notify,
    /// Tells who waits for room that something was taken.
    taken: Notify,
    closed: Cell<bool>,
}

impl Sender {
    /// Puts a message in line.
    pub fn queue(&self, frame: &Frame) {
        if self.closed.get() {
            return;
        }
        let (head, payload) = frame.encode(crc32c::crc32c_append);
        let mut queue = self.queue.borrow_mut();
        for piece in [head, payload.bytes()] {
            if !piece.is_empty() {
                self.queued_bytes.set(self.queued_bytes.get() + piece.len());
                queue.push_back(piece);
            }
        }
    }

    /// How much waits to be taken by the socket, in bytes.
    pub const fn queued_bytes(&self) -> usize {
        self.queued_bytes.get()
    }

    /// Waits until at most so many bytes are queued. One may wait at a time.
    pub async fn room(&self, most_bytes: usize) {
        while self.queued_bytes.get() > most_bytes {
            self.taken.notified().await;
        }
    }

    /// Writes what the socket takes now; [`Sender::drive`] does the rest.
    pub fn flush(&self) {
        if self.write_all().is_err() || self.queued_bytes.get() > 0 {
            self.wake.notify_one();
        }
    }

    /// Ends the connection: [`Sender::drive`] returns.
    pub fn close(&self) {
        self.closed.set(true);
        self.wake.notify_one();
    }

    /// Writes what is left over whenever the socket has room again. To be run beside the receiver; it
    /// ends with the connection.
    pub async fn drive(&self) -> ConnectionError {
        loop {
            self.wake.notified().await;
            while self.queued_bytes.get() > 0 {
                match timeout(STALL_DEADLINE, self.channel.writable()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return error.into(),
                    Err(_) => return ConnectionError::Stalled,
                }
                if let Err(error) = self.write_all() {
                    return error.into();
                }
            }
            if self.closed.get() {
                return ConnectionError::Closed;
            }
        }
    }

    fn write_all(&self) -> io::Result<()> {
        let mut queue = self.queue.borrow_mut();
        while !queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            for (slice, piece) in slices.iter_mut().zip(queue.iter()) {
                *slice = IoSlice::new(piece);
            }
            let count = queue.len().min(SLICES);
            match self.channel.try_write_vectored(&slices[..count]) {
                Ok(written) => {
                    self.queued_bytes.set(self.queued_bytes.get() - written);
                    forget(&mut queue, written);
                    self.taken.notify_one();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Takes what has been written from the front of the queue.
fn forget(queue: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(piece) = queue.front_mut() {
        if written < piece.len() {
            piece.advance(written);
            return;
        }
        written -= piece.len();
        queue.pop_front();
    }
}
