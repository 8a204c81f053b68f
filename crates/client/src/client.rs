//! The client: the state and functions that all operations share.

use crate::{
    Config, Context, Memory,
    cooperative::{Ahead, Fetches, Forwarding, Sharing},
    file_locks::FileLocks,
    layout::FileHint,
    leases::{Effects, Leases, PartId},
};
use alloc::{boxed::Box, vec, vec::Vec};
use atomic_refcell::AtomicRefCell;
use core::future::Future;
use futago_base::{ClusterMap, Duration, Errno, FileId, Kind, Payload, ServerId, Time};
use futago_wire::{Failure, FileState, Reply, Request, SharingCounters};

/// A client of a cluster. Operations take `&self` and run concurrently. Several threads may use a
/// client one at a time: a thread that polls an operation while another thread polls one panics.
pub struct Client<C> {
    context: C,
    map: ClusterMap,
    config: Config,
    pub(crate) memory: AtomicRefCell<Memory>,
    /// Per-file locks for access to dirty data: a holder writes it back or relies on it.
    pub(crate) file_locks: FileLocks,
    /// The data that is being fetched into the cache.
    pub(crate) fetches: Fetches,
    pub(crate) ahead: Ahead,
    pub(crate) forwarding: Forwarding,
    /// The last large read. The next one uses its buffer again, because new memory is expensive.
    pub(crate) spare: AtomicRefCell<Payload>,
}

/// The reply of a server.
pub type CallResult = Result<(Reply, Payload), Failure>;

/// The failure that the home of a removed file returns.
pub const GONE: Failure = Failure::Errno(Errno::ESTALE);

/// The failure for a reply of the wrong type.
pub const UNEXPECTED: Failure = Failure::Errno(Errno::EPROTO);

/// While a client waits for data, so many pauses are alike before they double.
const PAUSES_ALIKE: u32 = 8;

impl<C: Context> Client<C> {
    /// A client with empty caches.
    pub fn new(context: C, map: ClusterMap, config: Config) -> Self {
        Self::with_memory(context, map, config, Memory::new(&config))
    }

    /// A client that continues with the memory of another one.
    pub const fn with_memory(context: C, map: ClusterMap, config: Config, memory: Memory) -> Self {
        Self {
            context,
            map,
            config,
            memory: AtomicRefCell::new(memory),
            file_locks: FileLocks::new(),
            fetches: Fetches::new(),
            ahead: Ahead::new(),
            forwarding: Forwarding::new(),
            spare: AtomicRefCell::new(Payload::empty()),
        }
    }

    /// The memory of the client, for another one to continue with.
    pub fn into_memory(self) -> Memory {
        self.memory.into_inner()
    }

    /// The context of the client.
    pub const fn context(&self) -> &C {
        &self.context
    }

    /// The map of the cluster.
    pub const fn map(&self) -> &ClusterMap {
        &self.map
    }

    /// The settings of the client.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Sends a request with data under the lease protocol. It first registers opens of files that
    /// may lose their last name, and ends leases that the request ends. It then notes the states,
    /// names and leases in the reply.
    pub(crate) async fn request(
        &self,
        to: ServerId,
        request: Request,
        data: Payload,
    ) -> CallResult {
        if self.config.lease_trust.is_none() {
            let sequence = self.context.next_sequence();
            return self.context.call(to, sequence, request, data).await;
        }
        let mut effects = Effects::of(&request, to, |node| self.map.home(node));
        while let Some(node) = self.open_among(&effects.losing_names) {
            Box::pin(self.register_opens(node)).await?;
        }
        self.enter_session();
        self.with_leases(|leases| leases.begin(&mut effects));
        for part in effects.ended() {
            self.context.forget(part.node, Some(part.server)).await;
        }
        let sent = self.context.now();
        self.enter_session();
        let sequence = self.context.next_sequence();
        self.with_leases(|leases| leases.sent(sequence, &mut effects));
        let answer = self.context.call(to, sequence, request, data).await;
        let reply = answer.as_ref().map(|(reply, _)| reply);
        self.note_outcome(sequence, &effects, to, sent, reply);
        let early = self.with_leases(|leases| leases.take_early(sequence));
        if let Some(early) = early.filter(|early| !early.is_empty()) {
            Box::pin(self.return_leases(early)).await;
        }
        answer
    }

    /// Notes the outcome of a request that was sent at `sent`.
    pub(crate) fn note_outcome(
        &self,
        sequence: u64,
        effects: &Effects,
        to: ServerId,
        sent: Time,
        outcome: Result<&Reply, &Failure>,
    ) {
        if outcome == Err(&Failure::SessionExpired) {
            self.handle_session_end(|leases| leases.session_ended(effects));
        } else {
            self.with_leases(|leases| leases.completed(sequence, effects, to, sent, outcome));
        }
    }

    /// Notes the session of the next request.
    pub(crate) fn enter_session(&self) {
        let session = self.context.session();
        self.handle_session_end(|leases| leases.enter(session));
    }

    /// Drops the dirty data if the session has ended, because the leases ended with it.
    fn handle_session_end(&self, session_ended: impl FnOnce(&mut Leases) -> bool) {
        if self.with_leases(session_ended) == Some(true) {
            self.memory
                .borrow_mut()
                .write_buffer
                .lose_all(Errno::ESTALE);
        }
    }

    /// The first of some files that is open here and not registered at its home.
    fn open_among(&self, files: &[FileId]) -> Option<FileId> {
        let open = |leases: &mut Leases| files.iter().copied().find(|&id| leases.is_open(id));
        self.with_leases(open)?
    }

    /// The part of a node that its home has.
    pub(crate) fn home_part(&self, node: FileId) -> PartId {
        let server = self.map.home(node);
        PartId { node, server }
    }

    /// Does something with the leases of the client, if it accepts any.
    pub(crate) fn with_leases<T>(&self, work: impl FnOnce(&mut Leases) -> T) -> Option<T> {
        self.memory.borrow_mut().leases.as_deref_mut().map(work)
    }

    /// Does something with what the client knows about other clients' caches.
    pub(crate) fn with_sharing<T>(&self, work: impl FnOnce(&mut Sharing) -> T) -> T {
        work(&mut self.memory.borrow_mut().sharing)
    }

    /// The counters of data that the client has read and sent.
    pub fn sharing_counters(&self) -> SharingCounters {
        self.with_sharing(|sharing| sharing.counters)
    }

    /// Sends a request without data to a server.
    pub(crate) async fn ask(&self, to: ServerId, request: Request) -> Result<Reply, Failure> {
        let (reply, _) = self.request(to, request, Payload::empty()).await?;
        Ok(reply)
    }

    /// Sends a request without data to the home of a file, with retries.
    pub(crate) async fn ask_home(&self, id: FileId, request: Request) -> Result<Reply, Errno> {
        let home = self.map.home(id);
        self.persist(|| self.ask(home, request.clone())).await
    }

    /// As [`Client::ask_home`], for a request whose reply carries no information.
    pub(crate) async fn command_home(&self, id: FileId, request: Request) -> Result<(), Errno> {
        match self.ask_home(id, request).await? {
            Reply::Done => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    /// The state of a file at its home, from the cache under a lease or that of the contact server.
    pub(crate) async fn state_at_home(&self, id: FileId) -> Result<FileState, Failure> {
        self.flush(id).await;
        if let Some(state) = self.known_state(id) {
            return Ok(state);
        }
        match self.relayed_state(id).await {
            Some(state) => Ok(state),
            None => self.ask_state(id).await,
        }
    }

    /// The state of a file, as its home reports it now.
    pub(crate) async fn ask_state(&self, id: FileId) -> Result<FileState, Failure> {
        self.flush(id).await;
        let request = Request::GetAttributes(vec![id]);
        self.first_state(self.ask(self.map.home(id), request).await?)
    }

    /// The state of the first file in a reply.
    pub(crate) fn first_state(&self, reply: Reply) -> Result<FileState, Failure> {
        let Reply::Files(files) = reply else {
            return Err(UNEXPECTED);
        };
        match files.first() {
            Some(Ok(state)) => Ok(self.seen(*state)),
            Some(Err(errno)) => Err((*errno).into()),
            None => Err(UNEXPECTED),
        }
    }

    /// Caches the layout of a file or the first bucket of a directory from a state.
    pub(crate) fn seen(&self, state: FileState) -> FileState {
        let attributes = &state.attributes;
        if attributes.kind == Kind::File {
            // Of a file without data, such as a released one, no chunk is worth asking for before
            // the home has replied. It could be one from before the data was restored.
            let size_seen = match attributes.allocated_bytes {
                Some(0) => 0,
                _ => attributes.size,
            };
            let hint = FileHint::new(attributes.chunk_bytes, size_seen);
            let mut memory = self.memory.borrow_mut();
            memory.files.insert_new(attributes.id, hint);
        }
        if let Some(directory) = &state.directory {
            self.learn(
                attributes.id,
                futago_base::BucketStart(0),
                directory.header.level,
            );
        }
        state
    }

    /// Retries an operation until it succeeds or fails with an error for the caller. Every attempt
    /// must start from the beginning.
    pub(crate) async fn persist<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, Errno>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut deadline = self.context.now() + self.config.retry;
        let mut pauses = 0;
        loop {
            let failure = match attempt().await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let mut grown = pauses;
            let errno = match failure {
                Failure::Errno(errno) => return Err(errno),
                Failure::SessionExpired | Failure::Late | Failure::WrongServer => {
                    return Err(Errno::EIO);
                }
                Failure::NoBucket | Failure::NotAdmitted => Errno::EIO,
                Failure::Busy | Failure::Changed | Failure::Aborted | Failure::Moved { .. } => {
                    Errno::EBUSY
                }
                Failure::Released => {
                    // The home says when nobody brings the data. Small files come soon.
                    deadline = self.context.now() + self.config.retry;
                    grown /= PAUSES_ALIKE;
                    Errno::EIO
                }
            };
            if self.context.now() >= deadline {
                return Err(errno);
            }
            self.pause(grown).await;
            pauses += 1;
        }
    }

    /// Waits before a retry. The pause grows and is random, so that conflicting operations do not
    /// meet again.
    pub(crate) async fn pause(&self, pauses: u32) {
        let longest = self.config.pause_min.times(1 << pauses.min(20)).0;
        let longest = longest.min(self.config.pause_max.0).max(2);
        let half = longest / 2;
        let span = Duration(half + self.context.random() % half);
        self.context.sleep(span).await;
    }

    /// The start time of an operation: its age, if it becomes a transaction.
    pub(crate) fn age(&self) -> Time {
        self.context.stamp()
    }
}

/// The results in order, or the first failure.
pub fn all_or_failure<T>(answers: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    answers.into_iter().collect()
}
