//! Leases: the server recalls the leases on a node before it changes anything about the node.
//!
//! A client may cache what this server has of a node on which it holds a lease: the attributes, if
//! the server is the node's home, and the buckets of a directory with their names. So each server
//! of a directory of several buckets grants leases on its own part. A request that would change
//! such a node is undone. It waits until all other clients have returned their leases or have been
//! silent for so long that their leases have expired. For a while after a recall the server grants
//! no new lease on the node, because a node that several clients change is not worth caching. The
//! client that changes the node keeps its own lease, until another one wants to change the node.
//!
//! Under an exclusive lease a client may even cache its own changes. The server recalls an
//! exclusive lease before any reply discloses the state of the file. That holds for the holder
//! itself where its request does not name the file, because it could not send its changes first.
//!
//! The requests of a client do not wait for its own lease on the nodes that they name
//! ([`Request::touched`]). While a transaction has reserved a record of a node, no other client
//! holds a lease on the node. So the transaction is resolved without a recall. The client of the
//! transaction keeps its leases on directories, because it knows which names it changes.

mod grant;

use crate::builder::{DecisionBuilder, stored};
use alloc::{collections::BTreeSet, vec::Vec};
use futago_base::{
    FileId, Key, Payload, RequestId, SessionId, Value, View, XattrName,
    record::{Awaited, Recall, Session, Sort, Waiter},
};
use futago_wire::{FileState, Lease, LeaseRecall, Reply, Request};

impl<V: View> DecisionBuilder<'_, V> {
    /// Whether there are records in a range.
    pub fn is_any(&self, range: (Key, Key)) -> bool {
        self.state.range(range.0, range.1).next().is_some()
    }

    /// The nodes that the request changes although other clients hold leases on them.
    pub fn changed_under_leases(&mut self, request: &Request) -> BTreeSet<FileId> {
        // The end of a session waits for no client: it removes only files without names and
        // openers.
        let leaves = *request == Request::EndSession;
        // No lease holder can see the changes of these requests.
        let is_unseen = matches!(
            request,
            Request::Read { .. }
                | Request::AnnounceChanges(_)
                | Request::TakeExclusive(_)
                | Request::EndExclusive { .. }
        );
        if leaves || is_unseen || !self.state.may_have(Sort::Lease) {
            return BTreeSet::new();
        }
        let changed: BTreeSet<FileId> = self.state.changed_nodes().collect();
        let touched = request.touched();
        let named = touched.nodes;
        let session = self.request.session;
        let blocks = |node: &FileId| {
            let mut holders = self.holders(*node).into_iter();
            holders.any(|holder| holder != session || !named.contains(node))
        };
        let leased: BTreeSet<FileId> = changed.iter().copied().filter(blocks).collect();
        if leased.is_empty() {
            let prepares = matches!(request, Request::Prepare { .. });
            let is_ended = |node: &FileId| prepares && touched.ended.contains(node);
            let is_over =
                |node: &FileId| is_ended(node) || !self.is_here(*node) && !self.is_relayed(*node);
            let over: Vec<FileId> = named.into_iter().filter(is_over).collect();
            for node in over {
                self.end_lease(node, session);
            }
        }
        leased
    }

    /// The files whose state a reply discloses although an exclusive holder may have cached
    /// changes.
    pub fn disclosed_under_exclusive_leases(
        &self,
        request: &Request,
        reply: &Reply,
    ) -> BTreeSet<FileId> {
        if !self.state.may_have(Sort::Exclusive) {
            return BTreeSet::new();
        }
        let session = self.request.session;
        let is_named = !matches!(reply, Reply::Found { .. });
        let may_be_dirty = |node: &FileId| {
            let holder = self.exclusive_holder(*node);
            holder.is_some_and(|holder| holder != session || !is_named)
        };
        let mut disclosed: BTreeSet<FileId> = disclosed_files(request, reply).into_iter().collect();
        disclosed.retain(may_be_dirty);
        disclosed
    }

    /// The session that may have changed the file without the knowledge of its home.
    pub fn exclusive_holder(&self, node: FileId) -> Option<SessionId> {
        let session = self.state.get(&Key::Exclusive(node))?;
        session.number().map(|&session| SessionId(session))
    }

    /// The client that has the data of a file in its cache because it has written it.
    pub fn writer(&self, node: FileId) -> Option<SessionId> {
        let session = self.state.get(&Key::Writer(node))?;
        session.number().map(|&session| SessionId(session))
    }

    /// Whether the requesting client holds the only lease on a file and is its only opener.
    pub fn is_used_by_requester_only(&self, node: FileId) -> bool {
        let session = self.request.session;
        let mut openers = self.openers(node).iter();
        self.holders(node) == [session] && openers.all(|opener| opener.session == session)
    }

    /// Whether clients other than the requester hold leases on a node.
    pub fn is_leased_by_others(&self, node: FileId) -> bool {
        let session = self.request.session;
        self.holders(node).iter().any(|holder| *holder != session)
    }

    /// The client of a request if it holds a lease on a node from before the request.
    pub fn holder_before(&self, node: FileId, request: Option<RequestId>) -> Option<SessionId> {
        let RequestId { session, sequence } = request?;
        let number = self.state.number(&Key::Lease(node, session));
        (1..sequence).contains(&number).then_some(session)
    }

    /// Ends the leases on a node if it was removed.
    pub fn end_leases_of_removed(&mut self, node: FileId) {
        if self.state.inode(node).is_none() {
            for holder in self.holders(node) {
                self.end_lease(node, holder);
            }
        }
    }

    pub fn holders(&self, node: FileId) -> Vec<SessionId> {
        let (from, to) = Key::leases(node);
        let leases = self.state.range(from, to);
        let holder = |key: &Key| match key {
            Key::Lease(_, session) => Some(*session),
            _ => None,
        };
        leases.filter_map(|(key, _)| holder(key)).collect()
    }

    /// Parks a request, whose changes are undone, until the leases on some nodes are returned.
    pub fn await_recall(
        &mut self,
        nodes: &BTreeSet<FileId>,
        id: RequestId,
        request: &Request,
        payload: &Payload,
    ) {
        let named = request.touched().nodes;
        for &node in nodes {
            let keeper = named.contains(&node).then_some(id.session);
            self.recall(node, keeper.filter(|session| self.may_keep(node, *session)));
        }
        if let Some(&first) = nodes.first() {
            self.await_node(first, id, request, payload);
        }
    }

    /// Whether a client keeps its lease on a node when it changes the node. An exclusive holder is
    /// asked for what it has not sent.
    fn may_keep(&self, node: FileId, session: SessionId) -> bool {
        self.state.get(&Key::Lease(node, session)).is_some()
            && self.exclusive_holder(node) != Some(session)
    }

    /// Parks a request, whose changes are undone, until the leases or appends of a node are done.
    pub fn await_node(
        &mut self,
        node: FileId,
        id: RequestId,
        request: &Request,
        payload: &Payload,
    ) {
        let message = stored(request, payload);
        self.wait_for(Awaited::Node(node), Waiter::Request(id), message);
    }

    /// Recalls the leases on a node but that of a client that may keep it, unless it was done less
    /// than the resend time ago. Returns whether there are any.
    pub fn recall(&mut self, node: FileId, keeper: Option<SessionId>) -> bool {
        let (now, resend) = (self.now, self.server.config().resend);
        let known = self.known_recall(node);
        let keeper = keeper.filter(|_| known.is_none_or(|known| known.keeper == keeper));
        if !self.is_leased_beside(node, keeper) {
            return false;
        }
        let begun = known.filter(|known| known.keeper == keeper);
        let since = begun.map_or(now, |recall| recall.since);
        if begun.is_none_or(|recall| now.since(recall.notified) >= resend) {
            let notified = now;
            let recall = Recall {
                since,
                notified,
                keeper,
            };
            self.state.put(Key::Recall(node), recall);
            self.notify_holders(node, keeper);
        }
        true
    }

    pub(super) fn known_recall(&self, node: FileId) -> Option<Recall> {
        let recall = self.state.get(&Key::Recall(node))?;
        recall.recall().copied()
    }

    fn is_leased_beside(&self, node: FileId, keeper: Option<SessionId>) -> bool {
        let mut holders = self.holders(node).into_iter();
        holders.any(|holder| Some(holder) != keeper)
    }

    fn notify_holders(&mut self, node: FileId, keeper: Option<SessionId>) {
        for (session, recall) in self.recalls(node) {
            if Some(session) != keeper {
                self.notify_of_recalls(session, Vec::from([recall]));
            }
        }
    }

    /// The recalls of all leases on a node, with their holders.
    pub fn recalls(&self, node: FileId) -> Vec<(SessionId, LeaseRecall)> {
        let (from, to) = Key::leases(node);
        let leases = self.state.range(from, to);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Lease(_, session) => {
                let since = self.state.number(&Key::SessionLease(*session, node));
                let number = *value.number()?;
                let lease = Lease { node, number };
                Some((*session, LeaseRecall { lease, since }))
            }
            _ => None,
        };
        leases.filter_map(of).collect()
    }

    /// Whether a client holds leases here.
    pub fn has_leases(&self, session: SessionId) -> bool {
        self.is_any(Key::session_leases(session))
    }

    /// A client returns leases.
    pub fn return_leases(&mut self, leases: &[Lease]) {
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
        let (from, to) = Key::leases(node);
        if self.state.range(from, to).next().is_none() {
            self.forget_copies(node);
        }
        if self.exclusive_holder(node) == Some(session) {
            self.state.delete(Key::Exclusive(node));
        }
        if self.writer(node) == Some(session) {
            self.state.delete(Key::Writer(node));
        }
        let key = Key::Session(session);
        if let Some(known) = self.state.get(&key).and_then(Value::session).copied() {
            let leases = known.leases.saturating_sub(1);
            self.state.put(key, Session { leases, ..known });
        }
        let keeper = self.known_recall(node).and_then(|recall| recall.keeper);
        if !self.is_leased_beside(node, keeper) {
            self.effects.unblocked_nodes.push(node);
            self.begin_pause(node);
        }
        self.return_ending_relays(node);
    }

    /// Forgets the holders of all pieces of a file.
    pub fn forget_copies(&mut self, file: FileId) {
        let (from, to) = Key::copies(file);
        let known = self.state.range(from, to);
        let known: Vec<Key> = known.map(|(key, _)| key.clone()).collect();
        for key in known {
            self.state.delete(key);
        }
    }

    /// Begins the pause without new leases on a recalled node. It begins when the last recalled
    /// lease ends, so that the waiting requests run first however long the recall took.
    fn begin_pause(&mut self, node: FileId) {
        if let Some(recall) = self.known_recall(node) {
            let since = self.now;
            let recall = Recall { since, ..recall };
            self.state.put(Key::Recall(node), recall);
        }
    }

    /// Waits for one more lease until the requester is fenced, if it does not return its lease on a
    /// node.
    pub fn extend_recall(&mut self, node: FileId) {
        let lease = Key::Lease(node, self.request.session);
        if self.state.get(&lease).is_some()
            && let Some(recall) = self.known_recall(node)
        {
            let since = self.now;
            self.state
                .put(Key::Recall(node), Recall { since, ..recall });
        }
    }

    /// Repeats recalls, fences live holders that do not return their leases, and deletes recalls
    /// whose pause is over.
    pub fn retry_recalls(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Recall);
        let recalls = self.state.range(from, to);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Recall(node) => Some((*node, *value.recall()?)),
            _ => None,
        };
        let recalls: Vec<(FileId, Recall)> = recalls.filter_map(of).collect();
        for (node, recall) in recalls {
            self.retry_recall(node, recall);
        }
    }

    fn retry_recall(&mut self, node: FileId, recall: Recall) {
        let config = self.server.config();
        let waits = self.now.since(recall.since);
        if !self.is_leased_beside(node, recall.keeper) {
            if waits > config.lease_pause {
                self.state.delete(Key::Recall(node));
            }
        } else if waits > config.lease {
            self.fence_holders(node, recall);
        } else {
            self.recall(node, recall.keeper);
        }
    }

    /// Fences the clients that do not return their leases on a node. A contact server that is alive
    /// fences its own clients.
    fn fence_holders(&mut self, node: FileId, recall: Recall) {
        let mut holders = self.holders(node);
        holders.retain(|session| Some(*session) != recall.keeper);
        let (contacts, clients): (Vec<_>, Vec<_>) =
            holders.into_iter().partition(|it| self.is_contact(*it));
        for session in clients {
            self.fence(session);
        }
        if !contacts.is_empty() {
            self.recall(node, recall.keeper);
        }
    }
}

/// The files whose attributes or data a reply discloses.
fn disclosed_files(request: &Request, reply: &Reply) -> Vec<FileId> {
    let of = |state: &FileState| state.attributes.id;
    match (request, reply) {
        (Request::Read { id, .. }, _) => Vec::from([*id]),
        (Request::TestFiles { files, .. }, _) => files.clone(),
        // A write removes the capabilities.
        (Request::GetXattr { id, name }, _) if *name == XattrName::of_capabilities() => {
            Vec::from([*id])
        }
        (_, Reply::Found { state, .. }) => state.iter().map(of).collect(),
        (_, Reply::Files(states)) => states.iter().flatten().map(of).collect(),
        (_, Reply::File(state) | Reply::Opened(state)) => Vec::from([of(state)]),
        _ => Vec::new(),
    }
}
