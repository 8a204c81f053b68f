//! The information in a reply, and the possible changes of a request.

use super::PartId;
use alloc::vec::Vec;
use futago_base::{
    BucketStart, Errno, FileId, Kind, Name, NameHash, ServerId, SessionId, record::Entry,
};
use futago_wire::{Failure, Part, Reply, Request, Spot};
use serde::Serialize;

/// The subject of a cached fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Subject {
    /// Whether there is a lease on a part.
    Lease(PartId),
    /// The attributes in a part, or the sum of its buckets.
    Attributes(PartId),
    /// The entry of a name.
    Name(PartId, Name),
}

/// The information that a request asks for, and the state that it may change.
#[derive(Clone, Debug)]
pub struct Effects {
    /// The parts that it may change.
    pub parts: Vec<PartId>,
    /// The names that it may change.
    pub names: Vec<(PartId, Name)>,
    /// The nodes that may lose their last name by it.
    pub losing_names: Vec<FileId>,
    /// The name whose entry the reply contains.
    pub name: Option<(PartId, Name)>,
    /// The part that is listed, and its bucket if that is listed from its first name on.
    listed: Option<(PartId, Option<BucketStart>)>,
    removes_name: bool,
    /// It makes a file that is open from the start.
    pub opens: bool,
    /// The parts whose leases end when it is sent.
    ended: Vec<PartId>,
    /// It may change the data of a file.
    pub changes_data: bool,
    /// It sets an extended attribute.
    pub sets_xattr: bool,
    /// The server that it is sent to.
    server: ServerId,
    /// The session of the client in which it is sent.
    pub session: Option<SessionId>,
}

impl Effects {
    /// The effects of a request to `server`. `home` tells the home of a node.
    pub fn of(request: &Request, server: ServerId, home: impl Fn(FileId) -> ServerId) -> Self {
        let touched = request.touched();
        let here = |node| PartId { node, server };
        let names = touched.names.into_iter();
        let names: Vec<_> = names.map(|(at, name)| (here(at), name)).collect();
        // The steps of a transaction change what this server has. Another request that names a file
        // may have its home change the file.
        let is_here = is_transaction(request);
        let part = |node: FileId| match here(node) {
            part if is_here || names.iter().any(|(at, _)| *at == part) => part,
            part => PartId {
                server: home(node),
                ..part
            },
        };
        let at = name_in_reply(request);
        Self {
            parts: touched.nodes.iter().copied().map(part).collect(),
            losing_names: if removes_names(request) {
                touched.nodes
            } else {
                Vec::new()
            },
            ended: match request {
                Request::Prepare { .. } => touched.ended.into_iter().map(here).collect(),
                _ => Vec::new(),
            },
            name: at.map(|at| (here(at.directory), at.name.clone())),
            listed: listed(request).map(|(directory, bucket)| (here(directory), bucket)),
            names,
            removes_name: matches!(request, Request::Unlink { .. }),
            opens: matches!(request, Request::Create { open: true, .. }),
            changes_data: changes_data(request),
            sets_xattr: matches!(request, Request::SetXattr { .. }),
            server,
            session: None,
        }
    }

    /// The parts whose leases end when the request is sent.
    pub fn ended(&self) -> &[PartId] {
        &self.ended
    }

    /// Whether the subject is a part whose lease ends with the request.
    pub fn ends_lease(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Attributes(part) if self.ended.contains(part))
    }

    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let parts = self.parts.iter().copied();
        let names = self.names.iter().cloned();
        parts
            .map(Subject::Attributes)
            .chain(names.map(|(part, name)| Subject::Name(part, name)))
    }

    /// The part of a directory that has the names in the reply.
    pub fn names_in_reply(&self) -> Option<PartId> {
        let name = self.name.as_ref().map(|(part, _)| *part);
        name.or(self.listed.map(|(part, _)| part))
    }

    /// The bucket whose names are all in the reply, and its level.
    pub fn listed_bucket(&self, outcome: Result<&Reply, &Failure>) -> Option<(BucketStart, u8)> {
        match outcome {
            Ok(Reply::Listing {
                complete: true,
                level,
                ..
            }) => self.listed?.1.map(|bucket| (bucket, *level)),
            _ => None,
        }
    }

    /// The new node in the reply, as its home is the replying server, and its kind.
    pub fn made_node(&self, outcome: Result<&Reply, &Failure>) -> Option<(PartId, Kind)> {
        match outcome {
            Ok(Reply::Found {
                entry: Entry { id: node, kind },
                created: true,
                ..
            }) => {
                let (node, server) = (*node, self.server);
                Some((PartId { node, server }, *kind))
            }
            _ => None,
        }
    }

    /// The new file in the reply that is open here and not registered at its home.
    pub fn opened_file(&self, outcome: Result<&Reply, &Failure>) -> Option<FileId> {
        match outcome {
            Ok(Reply::Found {
                state: Some(state),
                created: true,
                ..
            }) if self.opens && state.leased => Some(state.attributes.id),
            _ => None,
        }
    }

    /// The entry of the name according to the reply.
    pub fn entry(&self, outcome: Result<&Reply, &Failure>) -> Option<Option<Entry>> {
        match outcome {
            Ok(Reply::Found { entry, .. }) => Some(Some(*entry)),
            Ok(Reply::Done | Reply::File(_) | Reply::Buckets(_)) if self.removes_name => Some(None),
            Err(Failure::Errno(Errno::ENOENT)) => Some(None),
            _ => None,
        }
    }
}

/// Whether the outcome comes from the server, and not from the client itself.
pub const fn comes_from_server(outcome: Result<&Reply, &Failure>) -> bool {
    !matches!(
        outcome,
        Err(Failure::Errno(Errno::EIO) | Failure::Busy | Failure::Late | Failure::SessionExpired)
    )
}

/// The parts of nodes in a reply.
pub fn parts(reply: &Reply) -> impl Iterator<Item = Part> {
    let files = match reply {
        Reply::Files(files) => &files[..],
        _ => &[],
    };
    let (one, other) = match reply {
        Reply::Found {
            state, directory, ..
        } => (state.map(Part::Home), directory.as_deref().copied()),
        Reply::Extent { state, .. } => (None, state.as_deref().copied().map(Part::Home)),
        Reply::File(state) | Reply::Opened(state) => (Some(Part::Home(*state)), None),
        Reply::Buckets(buckets) => (Some(Part::Buckets(*buckets)), None),
        Reply::Listing { directory, .. } => (None, directory.as_deref().copied()),
        _ => (None, None),
    };
    let files = files.iter().flatten().copied().map(Part::Home);
    one.into_iter().chain(other).chain(files)
}

const fn is_transaction(request: &Request) -> bool {
    matches!(request, Request::Execute(_) | Request::Prepare { .. })
}

const fn removes_names(request: &Request) -> bool {
    matches!(request, Request::Unlink { .. }) || is_transaction(request)
}

/// The name whose entry the reply to a request contains.
const fn name_in_reply(request: &Request) -> Option<&Spot> {
    match request {
        Request::Lookup(at)
        | Request::Create { at, .. }
        | Request::MakeDirectory { at, .. }
        | Request::Unlink { at, .. } => Some(at),
        _ => None,
    }
}

/// The directory that a request lists, and the bucket if it is listed from its first name on.
fn listed(request: &Request) -> Option<(FileId, Option<BucketStart>)> {
    match request {
        Request::ReadDirectory {
            directory,
            bucket,
            after: NameHash(after),
            ..
        } => {
            let is_first = *after == bucket.0.saturating_sub(1);
            Some((*directory, is_first.then_some(*bucket)))
        }
        _ => None,
    }
}

const fn changes_data(request: &Request) -> bool {
    match request {
        Request::SetAttributes { change, .. } => change.size.is_some(),
        Request::PrepareWrite { .. }
        | Request::Close(_)
        | Request::SetXattr { .. }
        | Request::RemoveXattr { .. } => false,
        _ => true,
    }
}
