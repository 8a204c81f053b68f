//! What a request tells, and what it may change.

use futago_base::{BucketStart, Errno, FileId, Kind, Name, NameHash, SessionId, record::Entry};
use futago_wire::{Failure, FileState, Reply, Request, Touched};
use serde::Serialize;

/// What something that is kept is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Subject {
    /// Whether there is a lease on a node.
    Lease(FileId),
    /// A node's attributes.
    Attributes(FileId),
    /// What a name leads to.
    Name(FileId, Name),
}

/// What a request tells or may change.
#[derive(Clone, Debug)]
pub struct Asked {
    pub touched: Touched,
    /// The name of which the answer tells what it leads to.
    pub name: Option<(FileId, Name)>,
    /// The directory whose names are asked for, from the first one on.
    directory: Option<FileId>,
    removes_name: bool,
    /// It makes a file that is open from the start.
    pub opens: bool,
    pub ends_leases: bool,
    /// It may change a file's data.
    pub changes_data: bool,
    removes_names: bool,
    /// In which of the client's sessions.
    pub session: Option<SessionId>,
}

impl Asked {
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

    /// The nodes on which the client has no lease any more once the request is sent.
    pub fn ended(&self) -> &[FileId] {
        if self.ends_leases {
            &self.touched.ended
        } else {
            &[]
        }
    }

    /// Whether the subject is a node on which the client has no lease any more.
    pub fn ends_lease(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Attributes(id) if self.ended().contains(id))
    }

    /// The nodes that may lose their last name by it.
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

    /// The directory of which the answer tells all names.
    pub fn listed(&self, answer: Result<&Reply, &Failure>) -> Option<FileId> {
        match answer {
            Ok(Reply::Listing {
                complete: true,
                level: 0,
                ..
            }) => self.directory,
            _ => None,
        }
    }

    /// The new directory of which the answer tells.
    pub fn made_directory(&self, answer: Result<&Reply, &Failure>) -> Option<FileId> {
        match answer {
            Ok(Reply::Found {
                entry,
                created: true,
                ..
            }) if entry.kind == Kind::Directory => Some(entry.id),
            _ => None,
        }
    }

    /// The new file of which the answer tells that it is open, and that its home does not know of that.
    pub fn opened_file(&self, answer: Result<&Reply, &Failure>) -> Option<FileId> {
        match answer {
            Ok(Reply::Found {
                state: Some(state),
                created: true,
                ..
            }) if self.opens && state.leased => Some(state.attributes.id),
            _ => None,
        }
    }

    /// What the answer says that the name leads to.
    pub fn entry(&self, answer: Result<&Reply, &Failure>) -> Option<Option<Entry>> {
        match answer {
            Ok(Reply::Found { entry, .. }) => Some(Some(*entry)),
            Ok(Reply::Done | Reply::File(_)) if self.removes_name => Some(None),
            Err(Failure::Errno(Errno::ENOENT)) => Some(None),
            _ => None,
        }
    }
}

/// Whether a server has really said it, and not the client's own side.
pub const fn comes_from_server(answer: Result<&Reply, &Failure>) -> bool {
    !matches!(
        answer,
        Err(Failure::Errno(Errno::EIO) | Failure::Busy | Failure::Late | Failure::SessionExpired)
    )
}

/// The nodes of which an answer tells.
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
