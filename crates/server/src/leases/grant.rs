//! Grants leases with replies.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use crate::state::size::changes_are_announced;
use alloc::boxed::Box;
use futago_base::{
    FileId, Key, Kind, SessionId, Value, View,
    record::{Session, Target},
};
use futago_wire::{BucketsState, FileState, Part, Reply, Request};

impl<V: View> DecisionBuilder<'_, V> {
    /// Grants the requesting client leases on the files in this reply.
    pub fn grant_leases(&mut self, reply: &mut Reply) {
        match reply {
            Reply::Found {
                state, directory, ..
            } => {
                state.iter_mut().for_each(|state| self.grant_lease(state));
                self.grant_lease_on_part(directory.as_deref_mut());
            }
            Reply::Listing { directory, .. } => self.grant_lease_on_part(directory.as_deref_mut()),
            Reply::Buckets(state) => self.grant_lease_on_buckets(state),
            Reply::Extent { state, .. } => {
                state.iter_mut().for_each(|state| self.grant_lease(state));
            }
            Reply::Files(states) => {
                let states = states.iter_mut().flatten();
                states.for_each(|state| self.grant_lease(state));
            }
            Reply::File(state) | Reply::Opened(state) => self.grant_lease(state),
            _ => {}
        }
    }

    pub fn grant_lease_on_part(&mut self, part: Option<&mut Part>) {
        match part {
            Some(Part::Home(state)) => self.grant_lease(state),
            Some(Part::Buckets(state)) => self.grant_lease_on_buckets(state),
            None => {}
        }
    }

    pub fn grant_lease(&mut self, state: &mut FileState) {
        let (node, session) = (state.attributes.id, self.request.session);
        if !self.may_be_leased(node, state) || !self.put_lease(node) {
            return;
        }
        state.leased = true;
        let inode = self.state.inode(node).filter(|it| it.kind == Kind::File);
        state.exclusive = self.exclusive_holder(node) == Some(session);
        state.data_leased = state.exclusive || inode.is_some_and(changes_are_announced);
    }

    /// Grants a lease on the buckets of a directory of another home. A directory's home grants it
    /// with the directory's state.
    fn grant_lease_on_buckets(&mut self, state: &mut BucketsState) {
        let node = state.directory;
        let is_free = self.may_have_lease(node) && self.is_settled(node);
        let may_be_leased = is_free && !self.is_at_home(node) && self.is_here(node);
        state.leased = may_be_leased && self.put_lease(node);
    }

    /// Whether the state of a node is decided by its home alone, by requests that name the node,
    /// and no request waits for the node.
    pub fn may_be_leased(&self, node: FileId, state: &FileState) -> bool {
        let holder = self.exclusive_holder(node);
        (state.directory.is_none() || self.is_settled(node))
            && self.is_at_home(node)
            && !self.is_released(node)
            && holder.is_none_or(|holder| holder == self.request.session)
            && self.state.get(&Key::Locator(Target::Inode(node))).is_none()
            && self.may_have_lease(node)
    }

    fn is_released(&self, node: FileId) -> bool {
        self.state.inode(node).is_some_and(|inode| inode.released)
    }

    /// Whether the requester may get a lease on a node, or renew it: after a recall only the client
    /// whose lease was not recalled may.
    pub fn may_have_lease(&self, node: FileId) -> bool {
        let session = self.request.session;
        self.known_recall(node).is_none_or(|recall| {
            let holds = self.state.get(&Key::Lease(node, session)).is_some();
            holds && recall.keeper == Some(session)
        })
    }

    /// Whether this server has anything of a node on which it grants leases.
    pub fn is_here(&self, node: FileId) -> bool {
        self.state.inode(node).is_some() || self.is_any(Key::headers(node))
    }

    /// Puts a lease of the requesting client on a node, or renews it. Returns whether it has done
    /// so: the client may have too many leases.
    pub fn put_lease(&mut self, node: FileId) -> bool {
        let session = self.request.session;
        let key = Key::Lease(node, session);
        let before = self.state.number(&key);
        if before == 0 && !self.count_lease(session) {
            return false;
        }
        self.state.put(key, before.max(self.request.sequence));
        if before == 0 {
            let since = self.request.sequence;
            self.state.put(Key::SessionLease(session, node), since);
        }
        true
    }

    /// Counts one more lease of a session, unless it has reached the limit.
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

    /// Adds the new state of the node that the request has changed to a reply for a client that
    /// caches. A lookup and a listing add the directory when the client has no lease on it yet.
    pub fn attach_changed_state(&mut self, request: &Request, reply: &mut Reply) {
        let held = |node| Key::Lease(node, self.request.session);
        let changed = match request {
            Request::Create { at, .. }
            | Request::MakeDirectory { at, .. }
            | Request::Unlink { at, .. } => at.directory,
            Request::Lookup(at) if self.state.get(&held(at.directory)).is_none() => at.directory,
            Request::ReadDirectory { directory, .. }
                if self.state.get(&held(*directory)).is_none() =>
            {
                *directory
            }
            Request::Write { id, .. }
            | Request::PrepareWrite { id, .. }
            | Request::Append { id, .. }
            | Request::FinishAppend { id, .. }
            | Request::Punch { id, .. }
            | Request::Close(id) => *id,
            Request::Read { id, .. } if self.refreshes_reader(*id) => *id,
            _ => return,
        };
        let Ok(now) = self.part_of(changed) else {
            return;
        };
        match (reply, now) {
            (Reply::Found { directory, .. } | Reply::Listing { directory, .. }, now) => {
                *directory = Some(Box::new(now));
            }
            (Reply::Extent { state, .. }, Part::Home(now)) => *state = Some(Box::new(now)),
            (reply @ Reply::Done, Part::Home(now)) => *reply = Reply::File(now),
            (reply @ Reply::Done, Part::Buckets(now)) => *reply = Reply::Buckets(now),
            _ => {}
        }
    }

    /// The state of a node, as far as this server has it.
    pub fn part_of(&self, node: FileId) -> Checked<Part> {
        if self.is_at_home(node) {
            return self.file_state(node).map(Part::Home);
        }
        self.no_pending_names(node)?;
        Ok(Part::Buckets(self.buckets_state(node)))
    }

    /// The buckets of a directory on this server.
    pub fn buckets_state(&self, directory: FileId) -> BucketsState {
        BucketsState {
            directory,
            sum: self.sum_here(directory),
            leased: false,
        }
    }

    /// Whether a reader that caches gets the state of the file. It does if the access time is new,
    /// or if it has no lease and none is being recalled. It also does if this request has brought
    /// the lease and is a copy.
    fn refreshes_reader(&self, id: FileId) -> bool {
        let has_new_time = self.state.changed_nodes().any(|node| node == id);
        match self.state.number(&Key::Lease(id, self.request.session)) {
            _ if has_new_time => true,
            0 => self.state.get(&Key::Recall(id)).is_none(),
            held => held >= self.request.sequence,
        }
    }
}
