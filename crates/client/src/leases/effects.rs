//! The information in a reply, and the possible changes of a request.

use futago_base::{BucketStart, Errno, FileId, Kind, Name, NameHash, SessionId, record::Entry};
use futago_wire::{Failure, FileState, Reply, Request, Touched};
use serde::Serialize;

/// The subject of a cached fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Subject {
    /// Whether there is a lease on a node.
    Lease(FileId),
    /// The attributes of a node.
    Attributes(FileId),
    /// The entry of a name.
    Name(FileId, Name),
}

/// The information that a request asks for, and the state that it may change.
#[derive(Clone, Debug)]
pub struct Effects {
    pub touched: Touched,
    /// The name whose entry the reply contains.
    pub name: Option<(FileId, Name)>,
    /// The directory that is listed from its first name on.
    directory: Option<FileId>,
    removes_name: bool,
    /// It makes a file that is open from the start.
    pub opens: bool,
    pub ends_leases: bool,
    /// It may change the data of a file.
    pub changes_data: bool,
    removes_names: bool,
    /// The session of the client in which it is sent.
    pub session: Option<SessionId>,
}

impl Effects {
    pub fn of(request: &Request) -> Self {
        let at = match request {
            Request::Lookup(at)
            | Request::Create { at, .. }
            | Request::MakeDirectory { at, .. }
            | Request::Unlink { at, .. } => Some(at),
            _ => None,
        };
        let directory = match request {
            Request::ReadDirectory {
                directory,
                bucket: BucketStart(0),
                after: NameHash(0),
                ..
            } => Some(*directory),
            _ => None,
        };
        Self {
            directory,
            touched: request.touched(),
            name: at.map(|at| (at.directory, at.name.clone())),
            removes_name: matches!(request, Request::Unlink { .. }),
            opens: matches!(request, Request::Create { open: true, .. }),
            ends_leases: matches!(request, Request::Prepare { .. }),
            changes_data: changes_data(request),
            removes_names: matches!(
                request,
                Request::Unlink { .. } | Request::Execute(_) | Request::Prepare { .. }
            ),
            session: None,
        }
    }

    /// The nodes whose leases end when the request is sent.
    pub fn ended(&self) -> &[FileId] {
        if self.ends_leases {
            &self.touched.ended
        } else {
            &[]
        }
    }

    /// Whether the subject is a node whose lease ends with the request.
    pub fn ends_lease(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Attributes(id) if self.ended().contains(id))
    }

    /// The nodes that may lose their last name by the request.
    pub fn losing_names(&self) -> &[FileId] {
        if self.removes_names {
            &self.touched.nodes
        } else {
            &[]
        }
    }

    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let nodes = self.touched.nodes.iter().copied();
        let names = self.touched.names.iter().cloned();
        nodes
            .map(Subject::Attributes)
            .chain(names.map(|(directory, name)| Subject::Name(directory, name)))
    }

    /// The directory whose names are all in the reply.
    pub fn listed(&self, outcome: Result<&Reply, &Failure>) -> Option<FileId> {
        match outcome {
            Ok(Reply::Listing {
                complete: true,
                level: 0,
                ..
            }) => self.directory,
            _ => None,
        }
    }

    /// The new directory in the reply.
    pub fn made_directory(&self, outcome: Result<&Reply, &Failure>) -> Option<FileId> {
        match outcome {
            Ok(Reply::Found {
                entry,
                created: true,
                ..
            }) if entry.kind == Kind::Directory => Some(entry.id),
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
            Ok(Reply::Done | Reply::File(_)) if self.removes_name => Some(None),
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

/// The states of nodes in a reply.
pub fn states(reply: &Reply) -> impl Iterator<Item = &FileState> {
    let (one, other) = match reply {
        Reply::Found {
            state, directory, ..
        } => (state.as_ref(), directory.as_deref()),
        Reply::Extent { state, .. } => (None, state.as_deref()),
        Reply::Files(files) if files.len() == 1 => (files[0].as_ref().ok(), None),
        Reply::File(state) | Reply::Opened(state) => (Some(state), None),
        _ => (None, None),
    };
    one.into_iter().chain(other)
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
