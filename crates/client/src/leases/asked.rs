//! What a request tells, and what it may change.

use futago_base::{Errno, FileId, Name, record::Entry};
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
    removes_name: bool,
    pub ends_leases: bool,
    /// In which of the client's sessions.
    pub session: u32,
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
        Self {
            touched: request.touched(),
            name: at.map(|at| (at.directory, at.name.clone())),
            removes_name: matches!(request, Request::Unlink { .. }),
            ends_leases: matches!(request, Request::Prepare { .. }),
            session: 0,
        }
    }

    /// The nodes on which the client has no lease any more once the request is sent.
    pub fn ended(&self) -> &[FileId] {
        if self.ends_leases {
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
