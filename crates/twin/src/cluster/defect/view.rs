//! Defects of what a server sees of its own records.

use super::{Defect, decisions::FormerSizes};
use futago_base::{ChunkId, Key, SessionId, Space, Value, View, data::Extents};
use futago_server::Input;
use futago_store::MemoryStore;
use futago_wire::{Peer, PeerChange, Request, Step};

/// A store of which some records are not seen.
pub struct PartialView<'a> {
    store: &'a MemoryStore,
    /// The occupancy of the store.
    space: Space,
    /// The session of the request.
    session: SessionId,
    hides: fn(&MemoryStore, &Key, SessionId) -> bool,
    /// The value for files of which a server has heard nothing.
    heard: Option<Value>,
    /// Records that are seen with other values.
    replaced: Vec<(Key, Value)>,
}

impl Defect {
    /// The view of a server while it decides about an input.
    pub fn view<'a>(
        self,
        store: &'a MemoryStore,
        space: Space,
        input: &Input,
        former: &FormerSizes,
    ) -> PartialView<'a> {
        let mut whole = PartialView {
            store,
            space,
            session: SessionId(0),
            hides: none,
            heard: None,
            replaced: Vec::new(),
        };
        if self == Self::RemovesOpenFiles && drops_link(input) {
            whole.hides = is_open;
        }
        let Input::Request { id, request, .. } = input else {
            return whole;
        };
        let hides = match (self, request) {
            (
                Self::WritesUnderLeases,
                Request::Write { .. } | Request::Append { .. } | Request::Punch { .. },
            )
            | (
                Self::RenamesUnderLeases,
                Request::Prepare { .. } | Request::Execute(_) | Request::Unlink { .. },
            )
            | (Self::SetsXattrsUnderLeases, Request::SetXattr { .. }) => is_lease,
            (
                Self::NamesUnderPartLeases,
                Request::Create { .. }
                | Request::MakeDirectory { .. }
                | Request::Unlink { .. }
                | Request::Prepare { .. }
                | Request::Execute(_),
            ) => is_part_lease,
            (Self::NeverRecallsChangers, _) => is_lease_of_changer,
            (Self::GrantsExclusiveToAll, Request::TakeExclusive(_)) => is_use,
            _ => whole.hides,
        };
        PartialView {
            session: id.session,
            hides,
            heard: self.heard_of_all(request),
            replaced: self.replaced(store, id.session, request, former),
            ..whole
        }
    }

    /// The admission of all files that the server was not admitted to, if the defect pretends one.
    const fn heard_of_all(self, request: &Request) -> Option<Value> {
        match (self, request) {
            (Self::ShowsLostChunks, Request::ReadChunk { .. }) => Some(Value::Number(0)),
            _ => None,
        }
    }
}

/// Whether it removes a name of a file, which may be the last.
fn drops_link(input: &Input) -> bool {
    match input {
        Input::Request {
            request: Request::Execute(steps),
            ..
        } => steps.iter().any(|step| matches!(step, Step::DropLink(_))),
        Input::Request { request, .. } => matches!(request, Request::Unlink { .. }),
        Input::Peer(Peer::Deliver { change, .. }) => {
            matches!(change, PeerChange::DropLink { .. })
        }
        _ => false,
    }
}

const fn none(_: &MemoryStore, _: &Key, _: SessionId) -> bool {
    false
}

/// Whether it is the lease of another client.
fn is_lease(_: &MemoryStore, key: &Key, asks: SessionId) -> bool {
    matches!(key, Key::Lease(_, holder) if *holder != asks)
}

/// The same on the buckets of a directory whose home is another server.
fn is_part_lease(store: &MemoryStore, key: &Key, asks: SessionId) -> bool {
    let is_part = |node| store.get(&Key::Inode(node)).is_none();
    is_lease(store, key, asks) && matches!(key, Key::Lease(node, _) if is_part(*node))
}

/// The same of the client that was left its lease when it changed the node.
fn is_lease_of_changer(store: &MemoryStore, key: &Key, asks: SessionId) -> bool {
    let changer = |node| store.get(&Key::Recall(node))?.recall()?.keeper;
    is_lease(store, key, asks)
        && matches!(key, Key::Lease(node, holder) if changer(*node) == Some(*holder))
}

/// Whether it tells that a file is open.
const fn is_open(_: &MemoryStore, key: &Key, _: SessionId) -> bool {
    matches!(key, Key::Opens(_))
}

/// Whether it tells that another client uses a file.
fn is_use(store: &MemoryStore, key: &Key, asks: SessionId) -> bool {
    is_lease(store, key, asks) || matches!(key, Key::Opens(_) | Key::Exclusive(_))
}

impl PartialView<'_> {
    fn replacement(&self, key: &Key) -> Option<&Value> {
        let replaced = self.replaced.iter().find(|(replaced, _)| replaced == key);
        replaced.map(|(_, value)| value)
    }
}

impl View for PartialView<'_> {
    fn get(&self, key: &Key) -> Option<&Value> {
        if (self.hides)(self.store, key, self.session) {
            return None;
        }
        if let Some(value) = self.replacement(key) {
            return Some(value);
        }
        let heard = self.heard.as_ref();
        let heard = heard.filter(|_| matches!(key, Key::Admitted(_)));
        self.store.get(key).or(heard)
    }

    fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        let records = self.store.range(from, to);
        let seen = records.filter(|(key, _)| !(self.hides)(self.store, key, self.session));
        seen.map(|(key, value)| (key, self.replacement(key).unwrap_or(value)))
    }

    fn data(&self, chunk: ChunkId) -> Option<&Extents> {
        self.store.data(chunk)
    }

    fn space(&self) -> Space {
        self.space
    }
}
