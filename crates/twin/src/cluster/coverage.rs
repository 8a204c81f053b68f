//! Coverage marks: the recovery paths and kinds of faults that a run passes through. They follow
//! from what the harness sees of messages, inputs, batches and outputs.

use futago_base::{
    Key, RequestId, Value, View,
    record::{Restoration, SessionState},
};
use futago_server::{Decision, Input, Output};
use futago_store::MemoryStore;
use futago_wire::{Failure, Peer, PeerAnswer, Reply, Request};
use strum::{EnumMessage as _, IntoEnumIterator as _};

/// A recovery path or a kind of faults. Its name is the variant's in kebab-case.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::EnumIter,
    strum::EnumMessage,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Mark {
    /// A message was lost.
    MessageLost,
    /// A message arrived twice.
    MessageDoubled,
    /// A message arrived late.
    MessageLate,
    /// A message overtook another one of the same sender to the same receiver.
    MessageOvertaken,
    /// Two servers could not reach each other.
    ServersApart,
    /// A client could not reach a server.
    ClientApart,
    /// A client did nothing for a while.
    ClientPaused,
    /// A wall clock stepped forward.
    ClockSetForward,
    /// A wall clock stepped back.
    ClockSetBack,
    /// A server stopped, and went on with what it had.
    ServerResumed,
    /// A server stopped, and returned empty.
    ServerEmptied,
    /// A server lost power, and went on with what was synchronized.
    PowerLost,
    /// A server may have lost what clients had seen, and gave up all sessions.
    ServerSetBack,
    /// A disk failed, and the server ended.
    DiskFailed,
    /// A synchronization failed and dropped what it should have written.
    WritesDropped,
    /// A server was opened on a copy of its disk with a changed bit of the log.
    DamageTried,
    /// A read met changed bits of data, and was refused.
    DamageRead,
    /// A loss of power undid entries of a log.
    EntriesLost,
    /// The torn end of a log was cut off.
    TornTailCut,
    /// The oldest files of a log were removed after cleaning.
    LogCleaned,
    /// A file of data was removed after cleaning.
    DataFileRemoved,
    /// A server noticed that another one had begun a new life.
    NewLifeNoticed,
    /// A client died.
    ClientDied,
    /// A client was refused because servers had given it up.
    SessionLost,
    /// A server gave a session up, and had the other servers stop serving it.
    SessionFenced,
    /// A server ended the leases of a silent client.
    LeasesEnded,
    /// A server closed the files of a silent client.
    OpensEnded,
    /// A server released the locks of a silent client.
    LocksEnded,
    /// A client sent a request again that had been served.
    RequestRepeated,
    /// A server sent a message to another server again.
    PeerMessageRepeated,
    /// A reply left although other servers had not confirmed the effects.
    ReplyOverdue,
    /// A server refused a request because it had too many.
    RequestRefused,
    /// A server refused a request because too many waited for other clients.
    WaitRefused,
    /// A request waited until leases were returned, or other appends were done.
    WaitedForLease,
    /// A request waited for a transaction.
    WaitedForTransaction,
    /// A request waited for a lock.
    WaitedForLock,
    /// A transaction was committed.
    TransactionCommitted,
    /// A transaction was aborted by its client or by an older one.
    TransactionAborted,
    /// A transaction was aborted because its client was silent.
    TransactionTimedOut,
    /// A bucket split.
    BucketSplit,
    /// A bucket split while the network had faults.
    BucketSplitUnderFaults,
    /// A server was asked for a chunk that had missed a truncation.
    TruncationMissed,
    /// The data of a released file was brought.
    FileRestored,
    /// The data of a released file was brought while the network had faults.
    FileRestoredUnderFaults,
    /// A contact server answered for another server.
    FactRelayed,
    /// A client read from the cache of another one.
    CopyRead,
    /// A client asked another one in vain.
    CopyMissed,
    /// A client got damaged bytes of another one.
    CopyDamaged,
    /// A client passed blocks on to another one instead of evicting them.
    CopyForwarded,
    /// A server was full.
    ServerFull,
}

impl Mark {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The path or fault, as a sentence.
    pub fn description(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

/// A set of coverage marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage(u64);

impl Coverage {
    /// Adds a mark.
    pub const fn add(&mut self, mark: Mark) {
        self.0 |= 1 << mark as u64;
    }

    /// Adds a mark if it holds.
    pub const fn add_if(&mut self, holds: bool, mark: Mark) {
        if holds {
            self.add(mark);
        }
    }

    /// Adds the marks of another set.
    pub const fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether a mark is in the set.
    pub const fn contains(self, mark: Mark) -> bool {
        self.0 & 1 << mark as u64 != 0
    }

    /// The marks of the set.
    pub fn marks(self) -> impl Iterator<Item = Mark> {
        Mark::all().filter(move |mark| self.contains(*mark))
    }
}

/// The properties of an input that count once a server has decided about it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    is_tick: bool,
    /// Whether a server asks for the end of a session, or confirms it.
    is_fenced: bool,
    /// Whether it is a request that was served before.
    is_served: bool,
    missed_truncation: bool,
}

impl Seen {
    /// Looks at an input.
    pub fn of(input: &Input, store: &MemoryStore) -> Self {
        Self {
            is_tick: *input == Input::Tick,
            is_fenced: matches!(
                input,
                Input::Peer(Peer::Fence { .. }) | Input::PeerAnswer(PeerAnswer::Fenced { .. })
            ),
            is_served: request_of(input).is_some_and(|id| store.get(&Key::Reply(id)).is_some()),
            missed_truncation: missed_truncation(input, store),
        }
    }

    /// The marks of a decision about the input.
    pub fn marks(self, decision: &Decision, before: &MemoryStore) -> Coverage {
        let mut marks = Coverage::default();
        marks.add_if(self.is_served, Mark::RequestRepeated);
        marks.add_if(self.missed_truncation, Mark::TruncationMissed);
        let transactions = decision.transactions;
        marks.add_if(transactions.committed > 0, Mark::TransactionCommitted);
        if transactions.aborted > 0 {
            marks.add(match self.is_tick {
                true => Mark::TransactionTimedOut,
                false => Mark::TransactionAborted,
            });
        }
        for output in &decision.outputs {
            self.mark_output(output, &mut marks);
        }
        for (key, value) in &decision.batch.records {
            mark_record(key, value.as_ref(), before, &mut marks);
            if self.is_tick || self.is_fenced {
                self.mark_end(key, value.as_ref(), &mut marks);
            }
        }
        marks
    }

    fn mark_output(self, output: &Output, marks: &mut Coverage) {
        match output {
            Output::Peer {
                message: Peer::Deliver { .. },
                ..
            } => marks.add_if(self.is_tick, Mark::PeerMessageRepeated),
            Output::Reply { outcome, .. } => match outcome {
                Ok(Reply::Relayed(Some(_))) => marks.add(Mark::FactRelayed),
                Err(Failure::Errno(futago_base::Errno::ENOSPC)) => marks.add(Mark::ServerFull),
                _ => {}
            },
            _ => {}
        }
    }

    /// Marks the end of what others have held or waited for.
    fn mark_end(self, key: &Key, value: Option<&Value>, marks: &mut Coverage) {
        match (key, value) {
            (Key::SessionLease(..), None) => marks.add_if(self.is_tick, Mark::LeasesEnded),
            (Key::SessionFile(..), None) => marks.add(Mark::OpensEnded),
            (Key::Locks(_), _) => marks.add(Mark::LocksEnded),
            (Key::HeldReply(_), None) => marks.add_if(self.is_tick, Mark::ReplyOverdue),
            _ => {}
        }
    }
}

fn request_of(input: &Input) -> Option<RequestId> {
    match input {
        Input::Request { id, .. } => Some(*id),
        _ => None,
    }
}

/// Whether the chunk of a request has not heard of a truncation that the client knows.
fn missed_truncation(input: &Input, store: &MemoryStore) -> bool {
    let Input::Request {
        request:
            Request::ReadChunk {
                chunk, truncations, ..
            }
            | Request::WriteChunk {
                chunk, truncations, ..
            },
        ..
    } = input
    else {
        return false;
    };
    let heard = store
        .get(&Key::Admitted(chunk.file))
        .and_then(Value::number);
    heard.is_some_and(|heard| *heard < truncations.latest)
}

fn mark_record(key: &Key, value: Option<&Value>, before: &MemoryStore, marks: &mut Coverage) {
    match (key, value) {
        (Key::EndedLives(_), Some(_)) => marks.add(Mark::NewLifeNoticed),
        (Key::Session(_), Some(Value::Session(session))) => {
            let is_fenced = matches!(session.state, SessionState::Fenced { .. });
            marks.add_if(is_fenced, Mark::SessionFenced);
        }
        (Key::AwaitsRecall(..), Some(_)) => marks.add(Mark::WaitedForLease),
        (Key::Parked(..), Some(_)) => marks.add(Mark::WaitedForTransaction),
        (Key::LockWaiters(_), Some(_)) => marks.add(Mark::WaitedForLock),
        (Key::Header(..), Some(Value::Header(header))) => {
            let known = before.get(key).and_then(Value::header);
            let splits = known.is_some_and(|known| known.level < header.level);
            marks.add_if(splits, Mark::BucketSplit);
        }
        (Key::Restoration(_), None) => {
            let known = before.get(key).and_then(Value::restoration);
            let is_brought = matches!(known, Some(Restoration::By(_)));
            marks.add_if(is_brought, Mark::FileRestored);
        }
        _ => {}
    }
}
