//! The nodes and names that a request may change, as far as the request itself names them.
//!
//! A server notifies the holder of a lease before another client changes the node. It does not
//! notify the holder of changes by the holder's own requests, so the client itself invalidates the
//! nodes that they name. Client and server derive them from the request by the same code.

use crate::{Request, Spot, Step};
use alloc::{vec, vec::Vec};
use futago_base::{FileId, Name};

/// The nodes and names that a request or step may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The nodes, in order.
    pub nodes: Vec<FileId>,
    /// Names, with their directories, which are among the nodes.
    pub names: Vec<(FileId, Name)>,
    /// The nodes on which a transaction ends its own client's lease. The other nodes are
    /// directories, of which the client invalidates only the changed names.
    pub ended: Vec<FileId>,
}

impl Touched {
    fn node(id: FileId) -> Self {
        Self {
            nodes: vec![id],
            names: Vec::new(),
            ended: vec![id],
        }
    }

    /// A directory whose names stay valid.
    fn directory(id: FileId) -> Self {
        Self {
            nodes: vec![id],
            ..Self::default()
        }
    }

    fn name(at: &Spot) -> Self {
        Self {
            nodes: vec![at.directory],
            names: vec![(at.directory, at.name.clone())],
            ended: Vec::new(),
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.nodes.extend(other.nodes);
        self.names.extend(other.names);
        self.ended.extend(other.ended);
        self.nodes.sort();
        self.nodes.dedup();
        self
    }
}

impl Request {
    /// The nodes and names that the request may change.
    pub fn touched(&self) -> Touched {
        match self {
            Self::Create { at, .. } | Self::MakeDirectory { at, .. } => Touched::name(at),
            Self::Unlink { at, file } => {
                let file = file.map(Touched::node).unwrap_or_default();
                Touched::name(at).and(file)
            }
            Self::Execute(steps) | Self::Prepare { steps, .. } => {
                let steps = steps.iter().map(Step::touched);
                steps.fold(Touched::default(), Touched::and)
            }
            Self::SetAttributes { id, .. }
            | Self::Close(id)
            | Self::Write { id, .. }
            | Self::PrepareWrite { id, .. }
            | Self::Append { id, .. }
            | Self::FinishAppend { id, .. }
            | Self::CutAhead(id)
            | Self::Punch { id, .. }
            | Self::SetXattr { id, .. }
            | Self::RemoveXattr { id, .. } => Touched::node(*id),
            _ => Touched::default(),
        }
    }
}

impl Step {
    fn touched(&self) -> Touched {
        match self {
            Self::RemoveEntry { at, .. } | Self::PutEntry { at, .. } => Touched::name(at),
            Self::SetParent { directory, .. } => Touched::directory(*directory),
            Self::RemoveBucket { directory, .. }
            | Self::SetAttributes { directory, .. }
            | Self::SetHeader { directory, .. } => Touched::node(*directory),
            Self::AddLink(id) | Self::DropLink(id) | Self::Touch(id) => Touched::node(*id),
            Self::CreateDirectory(_)
            | Self::AdvanceTree { .. }
            | Self::Inherit { .. }
            | Self::Expect(_) => Touched::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{BucketStart, Kind, record::Entry};

    fn spot(directory: u64, name: &str) -> Spot {
        Spot {
            directory: FileId(directory),
            bucket: BucketStart(0),
            name: Name::new(name.as_bytes().to_vec()).unwrap(),
        }
    }

    #[test]
    fn a_rename_touches_both_directories_and_names_and_what_moves() {
        let (id, kind) = (FileId(9), Kind::File);
        let entry = Entry { id, kind };
        let steps = vec![
            Step::RemoveEntry {
                at: spot(7, "a"),
                expected: entry,
            },
            Step::PutEntry {
                at: spot(3, "b"),
                entry,
                replaces: None,
            },
            Step::Touch(id),
        ];
        let touched = Request::Execute(steps).touched();
        assert_eq!(touched.nodes, [FileId(3), FileId(7), FileId(9)]);
        assert_eq!(touched.ended, [FileId(9)], "directories keep other names");
        let names: Vec<_> = touched.names.iter().map(|(at, _)| at.0).collect();
        assert_eq!(names, [7, 3]);
    }

    #[test]
    fn what_only_asks_touches_nothing() {
        assert_eq!(Request::Lookup(spot(1, "a")).touched(), Touched::default());
        let read = Request::Read {
            id: FileId(1),
            offset: 0,
            length: 1,
        };
        assert_eq!(read.touched(), Touched::default());
    }
}
