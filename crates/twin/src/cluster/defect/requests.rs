//! Defects of what arrives at a server.

use super::Defect;
use futago_base::{
    BucketStart, ChunkId, FileId, Key, NameHash, Payload, Value, View, record::LockKind,
};
use futago_server::Input;
use futago_wire::{LockChange, Peer, PeerChange, Request, Step};

impl Defect {
    /// Alters an input of a server.
    pub fn alter_input<V: View>(self, input: &mut Input, store: &V) {
        match input {
            Input::Request {
                request, payload, ..
            } => {
                self.alter_request(request, payload);
                self.alter_transaction(request, store);
                self.alter_lock(request);
                self.alter_chunk_request(request, store);
            }
            Input::Peer(Peer::Deliver { change, .. }) => self.alter_peer_change(change),
            _ => {}
        }
    }

    fn alter_request(self, request: &mut Request, payload: &mut Payload) {
        match (self, &mut *request) {
            (Self::ForgetsGroups, Request::SetAttributes { change, .. })
                if change.uid.is_some() =>
            {
                change.gid = None;
            }
            (Self::ForgetsSpecialBits, Request::Create { node, .. }) => node.mode &= 0o777,
            (
                Self::LosesBufferedWrites,
                Request::Write {
                    written: Some(_), ..
                },
            ) => *payload = Payload::empty(),
            (Self::SkipsCopies, Request::CopyChunk { from, to, .. }) => *to = *from,
            (Self::CountsNoData, Request::SumData { size, .. }) => *size = 0,
            (Self::IgnoresLeaving, Request::EndSession) => *request = Request::KeepAlive,
            (Self::CommitsRefused, Request::Decide { commit, .. }) => *commit = true,
            (Self::IgnoresExclusiveCreation, Request::Create { at, exclusive, .. })
                if at.bucket != BucketStart(0) =>
            {
                *exclusive = false;
            }
            (Self::RepeatsListedEntries, Request::ReadDirectory { after, .. }) => {
                *after = NameHash(after.0.saturating_sub(1));
            }
            _ => {}
        }
    }

    fn alter_transaction<V: View>(self, request: &mut Request, store: &V) {
        if let (
            Self::ForgetsParticipants,
            Request::Prepare {
                participants,
                status_server,
                ..
            },
        ) = (self, &mut *request)
            && let Some(at) = participants.iter().position(|id| id != status_server)
        {
            participants.remove(at);
        }
        let (Request::Execute(steps) | Request::Prepare { steps, .. }) = request else {
            return;
        };
        steps.retain(|step| match self {
            Self::IgnoresTreeVersion => !matches!(step, Step::AdvanceTree { .. }),
            Self::KeepsParents => !matches!(step, Step::SetParent { .. }),
            _ => true,
        });
        self.alter_steps(steps, store);
    }

    fn alter_lock(self, request: &mut Request) {
        let (Request::SetLock { lock, .. } | Request::TestLock { lock, .. }) = request else {
            return;
        };
        let LockChange {
            kind, owner, range, ..
        } = lock;
        match self {
            Self::SharesExclusiveLocks => *kind = kind.map(|_| LockKind::Shared),
            Self::ShortensLocks if kind.is_some() => range.end = range.start.max(range.end - 1),
            Self::ConfusesLockOwners => *owner = 0,
            _ => {}
        }
    }

    /// Has a request for a chunk seem to know just as much of truncations as the chunk's server.
    fn alter_chunk_request<V: View>(self, request: &mut Request, store: &V) {
        match (self, request) {
            (
                Self::ReadsPastCuts,
                Request::ReadChunk {
                    chunk, truncations, ..
                },
            ) => truncations
                .steps
                .retain(|step| step.sequence <= heard(store, *chunk)),
            (
                Self::WritesPastCuts,
                Request::WriteChunk {
                    chunk, truncations, ..
                },
            ) => truncations
                .steps
                .retain(|step| step.sequence <= heard(store, *chunk)),
            (
                Self::AdmitsStaleWriters,
                Request::WriteChunk {
                    chunk, truncations, ..
                },
            ) => truncations.latest = truncations.latest.max(heard(store, *chunk)),
            _ => {}
        }
    }

    fn alter_peer_change(self, change: &mut PeerChange) {
        match (self, change) {
            (Self::LosesMovedEntries, PeerChange::Transfer { entries, .. }) => {
                entries.pop();
            }
            (Self::ResolvesAsAborted, PeerChange::Resolve { committed, .. }) => *committed = false,
            _ => {}
        }
    }
}

/// The latest truncation of a chunk's file that a server has heard of.
fn heard<V: View>(store: &V, chunk: ChunkId) -> u64 {
    let of_file = |file: FileId| {
        let admitted = store.get(&Key::Admitted(file)).and_then(Value::number);
        let inode = store.get(&Key::Inode(file)).and_then(Value::inode);
        admitted
            .copied()
            .or_else(|| inode.map(|inode| inode.truncations.latest))
    };
    of_file(chunk.file).unwrap_or_default()
}
