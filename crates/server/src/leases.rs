//! Leases: whoever has one on a node is told before anything about it changes here.
//!
//! A client may keep what it was told about a node of which it has a lease: its attributes and, for a
//! directory of one bucket, its names. A request that would change such a node is undone and waits until
//! all other clients have given their leases back, or have not been heard of for so long that they rely on
//! them no more. For a while after that nobody gets a new one: what several clients change is not kept by any.
//!
//! Under an exclusive lease a client may even keep what it has changed. It is called back before anybody is told
//! anything of the file: others, and the client itself where its request does not name the file and so it could not
//! send first what it has kept.
//!
//! A client's own requests do not wait for its own lease on what they name ([`Request::touched`]).
//! While a transaction has reserved something of a node nobody else has a lease on it, so that it
//! is resolved without asking anybody. Its own client keeps its leases on directories: it knows
//! which names it changes.

use crate::Output;
use crate::state::size::changes_are_announced;
use crate::turn::{Turn, stored};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use futago_base::{
    BucketStart, FileId, Key, Kind, Payload, RequestId, SessionId, Value, View, XattrName,
    record::{Recall, Session, Sort, StoredMessage, Target},
};
use futago_wire::{FileState, Lease, LeaseRecall, Push, Reply, Request};

impl<V: View> Turn<'_, V> {
    /// Whether there are records in a range.
    pub fn is_any(&self, (from, to): (Key, Key)) -> bool {
        self.state.range(from, to).next().is_some()
    }

    /// The nodes that have changed although other clients than the one that asks have leases on them.
    pub fn changed_under_leases(&mut self, request: &Request) -> BTreeSet<FileId> {
        // Who leaves waits for nobody: only files that nobody has a name or a use for go with a session.
        let leaves = *request == Request::EndSession;
        // What they change is seen by nobody else who has a lease.
        let is_unseen = matches!(
            request,
            Request::Read { .. } | Request::AnnounceChanges(_) | Request::TakeExclusive(_)
        );
        if leaves || is_unseen || !self.state.may_have(Sort::Lease) {
            return BTreeSet::new();
        }
        let changed: BTreeSet<FileId> = self.state.changed_nodes().collect();
        let touched = request.touched();
        let named = touched.nodes;
        let session = self.request.session;
        let is_in_the_way = |node: &FileId| {
            let mut holders = self.holders(*node).into_iter();
            holders.any(|holder| holder != session || !named.contains(node))
        };
        let leased: BTreeSet<FileId> = changed.iter().copied().filter(is_in_the_way).collect();
        if leased.is_empty() {
            let prepares = matches!(request, Request::Prepare { .. });
            let is_ended = |node: &FileId| prepares && touched.ended.contains(node);
            let is_over = |node: &FileId| is_ended(node) || self.state.inode(*node).is_none();
            let over: Vec<FileId> = named.into_iter().filter(is_over).collect();
            for node in over {
                self.end_lease(node, session);
            }
        }
        leased
    }

    /// The files of which a reply tells although a client may have changed them and kept that.
    pub fn told_under_exclusive_leases(
        &self,
        request: &Request,
        reply: &Reply,
    ) -> BTreeSet<FileId> {
        if !self.state.may_have(Sort::Exclusive) {
            return BTreeSet::new();
        }
        let session = self.request.session;
        let is_named = !matches!(reply, Reply::Found { .. });
        let is_kept = |node: &FileId| {
            let holder = self.exclusive_holder(*node);
            holder.is_some_and(|holder| holder != session || !is_named)
        };
        let mut told: BTreeSet<FileId> = files_told_of(request, reply).into_iter().collect();
        told.retain(is_kept);
        told
    }

    /// Who may have changed a file without its home's knowing.
    pub fn exclusive_holder(&self, node: FileId) -> Option<SessionId> {
        let session = self.state.get(&Key::Exclusive(node))?;
        session.number().map(|&session| SessionId(session))
    }

    /// Whether the client that asks is the only one that has anything to do with a file, and has a lease on it.
    pub fn is_used_by_nobody_else(&self, node: FileId) -> bool {
        let session = self.request.session;
        let mut openers = self.openers(node).iter();
        self.holders(node) == [session] && openers.all(|opener| opener.session == session)
    }

    /// Whether others than the client that asks have leases on a node.
    pub fn is_leased_by_others(&self, node: FileId) -> bool {
        let session = self.request.session;
        self.holders(node).iter().any(|holder| *holder != session)
    }

    fn holders(&self, node: FileId) -> Vec<SessionId> {
        let (from, to) = Key::leases(node);
        let leases = self.state.range(from, to);
        let holder = |key: &Key| match key {
            Key::Lease(_, session) => Some(*session),
            _ => None,
        };
        leases.filter_map(|(key, _)| holder(key)).collect()
    }

    /// Has a request, of which nothing has happened, wait until the leases on some nodes are given back.
    pub fn await_recall(
        &mut self,
        nodes: &BTreeSet<FileId>,
        id: RequestId,
        request: &Request,
        payload: &Payload,
    ) {
        for &node in nodes {
            self.recall(node);
        }
        if let Some(&first) = nodes.first() {
            self.await_node(first, id, request, payload);
        }
    }

    /// Has a request, of which nothing has happened, wait for what goes on with a node.
    pub fn await_node(
        &mut self,
        node: FileId,
        id: RequestId,
        request: &Request,
        payload: &Payload,
    ) {
        let message = stored(id, request, payload);
        self.state.put(Key::AwaitsRecall(node, id), message);
    }

    /// Calls the leases on a node back, if that has not been done just before. Returns whether there are any.
    pub fn recall(&mut self, node: FileId) -> bool {
        if !self.is_any(Key::leases(node)) {
            return false;
        }
        let notified = self.now;
        let known = self.state.get(&Key::Recall(node)).and_then(Value::recall);
        let since = known.map_or(notified, |recall| recall.since);
        let resend = self.server.config().resend;
        if known.is_none_or(|recall| notified.since(recall.notified) >= resend) {
            self.state
                .put(Key::Recall(node), Recall { since, notified });
            self.tell_holders(node);
        }
        true
    }

    fn tell_holders(&mut self, node: FileId) {
        let (from, to) = Key::leases(node);
        let leases = self.state.range(from, to);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Lease(_, session) => Some((*session, *value.number()?)),
            _ => None,
        };
        let leases: Vec<(SessionId, u64)> = leases.filter_map(of).collect();
        for (session, number) in leases {
            let since = self.state.number(&Key::SessionLease(session, node));
            let lease = Lease { node, number };
            let push = Push::Recall(LeaseRecall { lease, since });
            self.output(Output::Push { session, push });
        }
    }

    /// Gives the client that asks leases on the files of an answer that it may keep.
    pub fn lease_all(&mut self, reply: &mut Reply) {
        match reply {
            Reply::Found {
                state, directory, ..
            } => {
                let directory = directory.as_deref_mut();
                state
                    .iter_mut()
                    .chain(directory)
                    .for_each(|state| self.lease(state));
            }
            Reply::Extent { state, .. } => {
                state.iter_mut().for_each(|state| self.lease(state));
            }
            // Who asks for many lists them.
            Reply::Files(states) if states.len() == 1 => {
                states
                    .iter_mut()
                    .flatten()
                    .for_each(|state| self.lease(state));
            }
            Reply::File(state) | Reply::Opened(state) => self.lease(state),
            _ => {}
        }
    }

    fn lease(&mut self, state: &mut FileState) {
        let (node, session) = (state.attributes.id, self.request.session);
        if !self.may_be_leased(node, state) {
            return;
        }
        let key = Key::Lease(node, session);
        let before = self.state.number(&key);
        if before == 0 && !self.count_lease(session) {
            return;
        }
        state.leased = true;
        let inode = self.state.inode(node).filter(|it| it.kind == Kind::File);
        state.exclusive = self.exclusive_holder(node) == Some(session);
        state.data_leased = state.exclusive || inode.is_some_and(changes_are_announced);
        self.state.put(key, before.max(self.request.sequence));
        if before == 0 {
            let since = self.request.sequence;
            self.state.put(Key::SessionLease(session, node), since);
        }
    }

    /// Counts one lease more of a session, unless it has too many.
    fn count_lease(&mut self, session: SessionId) -> bool {
        let most = self.server.config().leases_max;
        let key = Key::Session(session);
        match self.state.get(&key).and_then(Value::session).copied() {
            Some(known) if known.leases < most => {
                let leases = known.leases + 1;
                self.state.put(key, Session { leases, ..known });
                true
            }
            _ => false,
        }
    }

    /// Whether all that concerns a node is decided here, by requests that name the node, and nobody waits for it.
    pub fn may_be_leased(&self, node: FileId, state: &FileState) -> bool {
        let reserved = |target| self.state.get(&Key::Locator(target)).is_some();
        let is_settled = state.directory.is_none_or(|directory| {
            directory.header.level == 0
                && directory.header.pending == 0
                && !reserved(Target::Header(node, BucketStart(0)))
        });
        let holder = self.exclusive_holder(node);
        is_settled
            && self.is_at_home(node)
            && holder.is_none_or(|holder| holder == self.request.session)
            && !reserved(Target::Inode(node))
            && self.state.get(&Key::Recall(node)).is_none()
    }

    /// Whether a client has leases here.
    pub fn has_leases(&self, session: SessionId) -> bool {
        self.is_any(Key::session_leases(session))
    }

    /// Tells a client that takes leases how what it has changed is now, and of a directory in which it has found a
    /// name the first time.
    pub fn tell_changed(&mut self, request: &Request, reply: &mut Reply) {
        let held = |node| Key::Lease(node, self.request.session);
        let changed = match request {
            Request::Create { at, .. }
            | Request::MakeDirectory { at, .. }
            | Request::Unlink { at, .. } => at.directory,
            Request::Lookup(at) if self.state.get(&held(at.directory)).is_none() => at.directory,
            Request::Write { id, .. }
            | Request::PrepareWrite { id, .. }
            | Request::Append { id, .. }
            | Request::FinishAppend { id, .. }
            | Request::Punch { id, .. }
            | Request::Close(id) => *id,
            Request::Read { id, .. } if self.tells_reader(*id) => *id,
            _ => return,
        };
        let Ok(now) = self.file_state(changed) else {
            return;
        };
        match reply {
            Reply::Found { directory, .. } => *directory = Some(Box::new(now)),
            Reply::Extent { state, .. } => *state = Some(Box::new(now)),
            Reply::Done => *reply = Reply::File(now),
            _ => {}
        }
    }

    /// Whether a client that takes leases is told of a file that it reads: the access time is new, it has no lease on the file
    /// while none is called back, or this request has brought one and is repeated.
    fn tells_reader(&self, id: FileId) -> bool {
        let has_new_time = self.state.changed_nodes().any(|node| node == id);
        match self.state.number(&Key::Lease(id, self.request.session)) {
            _ if has_new_time => true,
            0 => self.state.get(&Key::Recall(id)).is_none(),
            held => held >= self.request.sequence,
        }
    }

    /// A client gives leases back.
    pub fn take_back(&mut self, leases: &[Lease]) {
        let session = self.request.session;
        for lease in leases {
            let held = self.state.number(&Key::Lease(lease.node, session));
            if (1..=lease.number).contains(&held) {
                self.end_lease(lease.node, session);
            }
        }
    }

    /// Ends all leases of a session.
    pub fn end_leases(&mut self, session: SessionId) {
        let (from, to) = Key::session_leases(session);
        let leases = self.state.range(from, to);
        let node = |key: &Key| match key {
            Key::SessionLease(_, node) => Some(*node),
            _ => None,
        };
        let nodes: Vec<FileId> = leases.filter_map(|(key, _)| node(key)).collect();
        for node in nodes {
            self.end_lease(node, session);
        }
    }

    fn end_lease(&mut self, node: FileId, session: SessionId) {
        if self.state.get(&Key::Lease(node, session)).is_none() {
            return;
        }
        self.state.delete(Key::Lease(node, session));
        self.state.delete(Key::SessionLease(session, node));
        if self.exclusive_holder(node) == Some(session) {
            self.state.delete(Key::Exclusive(node));
        }
        let key = Key::Session(session);
        if let Some(known) = self.state.get(&key).and_then(Value::session).copied() {
            let leases = known.leases.saturating_sub(1);
            self.state.put(key, Session { leases, ..known });
        }
        if !self.is_any(Key::leases(node)) {
            self.given_back.push(node);
            self.begin_pause(node);
        }
    }

    /// For a while nobody gets a lease on a node that was called back. However long that took: those who have waited come first.
    fn begin_pause(&mut self, node: FileId) {
        let key = Key::Recall(node);
        if let Some(&recall) = self.state.get(&key).and_then(Value::recall) {
            let since = self.now;
            self.state.put(key, Recall { since, ..recall });
        }
    }

    /// Takes the requests that waited for the leases on a node.
    pub fn take_awaiting(&mut self, node: FileId) -> Vec<StoredMessage> {
        let (from, to) = Key::awaiting_recall(node);
        let waiting = self.state.range(from, to);
        let waiting: Vec<StoredMessage> = waiting
            .filter_map(|(_, value)| value.message().cloned())
            .collect();
        for message in &waiting {
            self.state.delete(Key::AwaitsRecall(node, message.request));
        }
        waiting
    }

    /// Tells holders again, gives up those that do not answer although they live, and forgets recalls
    /// that were done some time ago.
    pub fn press_recalls(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Recall);
        let recalls = self.state.range(from, to);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Recall(node) => Some((*node, *value.recall()?)),
            _ => None,
        };
        let recalls: Vec<(FileId, Recall)> = recalls.filter_map(of).collect();
        for (node, recall) in recalls {
            self.press_recall(node, recall);
        }
    }

    fn press_recall(&mut self, node: FileId, recall: Recall) {
        let config = self.server.config();
        let waits = self.now.since(recall.since);
        if !self.is_any(Key::leases(node)) {
            if waits > config.lease_pause {
                self.state.delete(Key::Recall(node));
            }
        } else if waits > config.lease {
            for session in self.holders(node) {
                self.fence(session);
            }
        } else {
            self.recall(node);
        }
    }
}

/// The files of whose attributes or data a reply tells.
fn files_told_of(request: &Request, reply: &Reply) -> Vec<FileId> {
    let of = |state: &FileState| state.attributes.id;
    match (request, reply) {
        (Request::Read { id, .. }, _) => Vec::from([*id]),
        // A write takes them away.
        (Request::GetXattr { id, name }, _) if *name == XattrName::of_capabilities() => {
            Vec::from([*id])
        }
        (_, Reply::Found { state, .. }) => state.iter().map(of).collect(),
        (_, Reply::Files(states)) => states.iter().flatten().map(of).collect(),
        (_, Reply::File(state) | Reply::Opened(state)) => Vec::from([of(state)]),
        _ => Vec::new(),
    }
}
