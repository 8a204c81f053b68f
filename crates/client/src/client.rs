//! A client: what all operations share.

use crate::{
    Config, Context, Memory,
    layout::FileHint,
    leases::{Asked, Leases},
    turns::Turns,
};
use alloc::{boxed::Box, vec, vec::Vec};
use atomic_refcell::AtomicRefCell;
use core::future::Future;
use futago_base::{ClusterMap, Duration, Errno, FileId, Kind, Payload, ServerId, Time};
use futago_wire::{Failure, FileState, Reply, Request};

/// A client of a cluster. Operations take `&self` and may run side by side, on several threads if these
/// take turns: whoever polls one while another thread polls another one panics.
pub struct Client<C> {
    context: C,
    map: ClusterMap,
    config: Config,
    pub(crate) memory: AtomicRefCell<Memory>,
    /// Who sends, or relies on, what is unsent of a file.
    pub(crate) turns: Turns,
}

/// What a server answered.
pub type Answer = Result<(Reply, Payload), Failure>;

/// What the home of a file that does not exist any more says.
pub const GONE: Failure = Failure::Errno(Errno::ESTALE);

/// An answer that its request does not have.
pub const UNEXPECTED: Failure = Failure::Errno(Errno::EPROTO);

impl<C: Context> Client<C> {
    /// A client that knows nothing yet but the cluster's map.
    pub fn new(context: C, map: ClusterMap, config: Config) -> Self {
        Self::with_memory(context, map, config, Memory::new(&config))
    }

    /// A client that goes on with what another one has remembered.
    pub const fn with_memory(context: C, map: ClusterMap, config: Config, memory: Memory) -> Self {
        Self {
            context,
            map,
            config,
            memory: AtomicRefCell::new(memory),
            turns: Turns::new(),
        }
    }

    /// What it remembers, for another one to go on with.
    pub fn into_memory(self) -> Memory {
        self.memory.into_inner()
    }

    /// Its way to the world.
    pub const fn context(&self) -> &C {
        &self.context
    }

    /// The cluster's map.
    pub const fn map(&self) -> &ClusterMap {
        &self.map
    }

    /// Its settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Asks a server, with data.
    pub(crate) async fn send(&self, to: ServerId, request: Request, data: Payload) -> Answer {
        if self.config.lease_trust.is_none() {
            let sequence = self.context.next_sequence();
            return self.context.call(to, sequence, request, data).await;
        }
        let mut asked = Asked::of(&request);
        while let Some(node) = self.open_among(asked.losing_names()) {
            Box::pin(self.register_opens(node)).await?;
        }
        self.enter_session();
        self.with_leases(|leases| leases.begin(&mut asked));
        for &node in asked.ended() {
            self.context.forget(node).await;
        }
        let sent = self.context.now();
        self.enter_session();
        let sequence = self.context.next_sequence();
        self.with_leases(|leases| leases.sent(sequence, &mut asked));
        let answer = self.context.call(to, sequence, request, data).await;
        let told = answer.as_ref().map(|(reply, _)| reply);
        if told == Err(&Failure::SessionExpired) {
            self.session_is_over(|leases| leases.is_over(&asked));
        } else {
            self.with_leases(|leases| leases.answered(sequence, &asked, (to, sent), told));
        }
        let early = self.with_leases(|leases| leases.take_early(sequence));
        if let Some(early) = early.filter(|early| !early.is_empty()) {
            Box::pin(self.give_back(early)).await;
        }
        answer
    }

    /// Notices which session the next request belongs to.
    pub(crate) fn enter_session(&self) {
        let session = self.context.session();
        self.session_is_over(|leases| leases.enter(session));
    }

    /// What was kept in a session is lost with it, if it is over.
    fn session_is_over(&self, is_over: impl FnOnce(&mut Leases) -> bool) {
        if self.with_leases(is_over) == Some(true) {
            self.memory.borrow_mut().unsent.lose_all(Errno::ESTALE);
        }
    }

    /// One of some files that is open without its home's knowing.
    fn open_among(&self, files: &[FileId]) -> Option<FileId> {
        let open = |leases: &mut Leases| files.iter().copied().find(|&id| leases.is_open(id));
        self.with_leases(open)?
    }

    /// Does something with the client's leases, if it takes any.
    pub(crate) fn with_leases<T>(&self, work: impl FnOnce(&mut Leases) -> T) -> Option<T> {
        self.memory.borrow_mut().leases.as_deref_mut().map(work)
    }

    /// Asks a server.
    pub(crate) async fn ask(&self, to: ServerId, request: Request) -> Result<Reply, Failure> {
        let (reply, _) = self.send(to, request, Payload::empty()).await?;
        Ok(reply)
    }

    /// Asks a file's home for something that it does or fails to do.
    pub(crate) async fn ask_home(&self, id: FileId, request: Request) -> Result<Reply, Errno> {
        let home = self.map.home(id);
        self.persist(|| self.ask(home, request.clone())).await
    }

    /// The same, where the answer tells nothing more.
    pub(crate) async fn tell_home(&self, id: FileId, request: Request) -> Result<(), Errno> {
        match self.ask_home(id, request).await? {
            Reply::Done => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    /// The state of a file as its home knows it, from memory under a lease.
    pub(crate) async fn state_at_home(&self, id: FileId) -> Result<FileState, Failure> {
        self.send_unsent(id).await;
        match self.leased_state(id) {
            Some(state) => Ok(state),
            None => self.ask_state(id).await,
        }
    }

    /// The state of a file as its home says.
    pub(crate) async fn ask_state(&self, id: FileId) -> Result<FileState, Failure> {
        self.send_unsent(id).await;
        let request = Request::GetAttributes(vec![id]);
        let Reply::Files(files) = self.ask(self.map.home(id), request).await? else {
            return Err(UNEXPECTED);
        };
        match files.first() {
            Some(Ok(state)) => Ok(self.seen(*state)),
            Some(Err(errno)) => Err((*errno).into()),
            None => Err(UNEXPECTED),
        }
    }

    /// Remembers what a state tells of where the file's data or entries are.
    pub(crate) fn seen(&self, state: FileState) -> FileState {
        let attributes = &state.attributes;
        if attributes.kind == Kind::File {
            let hint = FileHint::new(attributes.chunk_bytes, attributes.size);
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

    /// Tries until nothing but an error for the caller, or success, is the outcome. Every attempt
    /// must look at everything anew.
    pub(crate) async fn persist<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, Errno>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = self.context.now() + self.config.retry;
        let mut pauses = 0;
        loop {
            let errno = match attempt().await {
                Ok(done) => return Ok(done),
                Err(Failure::Errno(errno)) => return Err(errno),
                Err(Failure::SessionExpired | Failure::Late | Failure::WrongServer) => {
                    return Err(Errno::EIO);
                }
                Err(Failure::NoBucket | Failure::NotAdmitted) => Errno::EIO,
                Err(
                    Failure::Busy | Failure::Changed | Failure::Aborted | Failure::Moved { .. },
                ) => Errno::EBUSY,
            };
            if self.context.now() >= deadline {
                return Err(errno);
            }
            self.pause(pauses).await;
            pauses += 1;
        }
    }

    /// Waits a little longer each time; at random, so that those who got in each other's way do not
    /// do so again.
    pub(crate) async fn pause(&self, pauses: u32) {
        let longest = self.config.pause_min.times(1 << pauses.min(20)).0;
        let longest = longest.min(self.config.pause_max.0).max(2);
        let half = longest / 2;
        let span = Duration(half + self.context.random() % half);
        self.context.sleep(span).await;
    }

    /// When an operation begins: its age, if it becomes a transaction.
    pub(crate) fn age(&self) -> Time {
        self.context.stamp()
    }
}

/// The answers in order, or the first failure.
pub fn all_or_failure<T>(answers: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    answers.into_iter().collect()
}
