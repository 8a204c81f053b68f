//! One step of the reference: an operation, or a slice of one, against a tree.

use super::{Content, NodeId, Observed, Operation, Outcome, Tree, attributes, data, locks, names};
use futago_base::{Attributes, Errno, FileId, Kind, XattrName};
use std::collections::BTreeSet;

/// An operation of a history.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// Its number within the history.
    pub index: usize,
    /// The client that asked.
    pub client: usize,
    /// The result; `None` if the client died first.
    pub observed: Option<&'a Observed>,
    /// Whether servers may be full.
    pub limited: bool,
    /// Whether no other operation overlapped it, so that everything it saw must be exact.
    pub alone: bool,
    /// Bytes a chunk.
    pub chunk_bytes: u64,
}

/// The part of an operation that takes effect at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// All of it.
    Whole,
    /// The effects at a file's home: size, attributes and the first chunk.
    Home,
    /// The effects on one chunk other than the first; for an append, counted from the chunk of its
    /// offset.
    Chunk(u64),
    /// An append of a client that died has its place, and its data in the first chunk.
    Granted,
    /// The size of a file covers an append that others have not waited for, or one that has its
    /// place.
    Finished,
    /// The effects on one chunk before those at the home; they happen again afterwards if the file
    /// has been truncated meanwhile.
    Early(u64),
    /// The target of a copy grows by so much.
    Grown(u64),
    /// A kernel looks at the name that a rename is to move, before it looks at the other one.
    Looked,
    /// A piece of a copy, from and to so far from its beginning, is done.
    Copied(u64, u64),
    /// An unlinked name vanishes.
    Entry,
    /// The count of links of a file whose name has vanished follows.
    Links,
}

/// The expected result of an operation.
pub(super) enum Expected {
    /// Anything.
    Any,
    /// Nothing but success.
    Done,
    /// This file, and whether it is new.
    File(NodeId, bool),
    /// This directory.
    Identity(NodeId),
    /// This data within `from..to`, of an answer that starts at `offset` and is `length` long.
    Data {
        offset: u64,
        length: Option<u64>,
        from: u64,
        to: u64,
        content: Content,
    },
    /// These bytes.
    Bytes(Vec<u8>),
    /// This number.
    Number(u64),
    /// These names.
    Names(BTreeSet<XattrName>),
    /// Whether a lock is in the way.
    Lock(bool),
}

/// The errors that an operation may fail with here; any of them will do.
pub(super) type Errors = Vec<Errno>;

impl Call<'_> {
    /// The node that this operation makes.
    pub(super) const fn new_node(&self) -> NodeId {
        NodeId(1_000_000 + self.index as u32)
    }
}

/// The tree after the slice took effect, if what the client saw could have been seen here.
pub fn attempt(tree: &Tree, call: &Call<'_>, slice: Slice) -> Option<Tree> {
    let mut after = tree.clone();
    if slice == Slice::Looked {
        return names::look(&mut after, call).map(|()| after);
    }
    if let Some(moved) = after.looked.remove(&call.index) {
        return names::refused_by_kernel(&after, call, moved).then_some(after);
    }
    let expected = run(&mut after, call, slice);
    match (call.observed, expected) {
        (None, Ok(_)) => Some(after),
        (None, Err(_)) => None,
        (Some(Ok(outcome)), Ok(expected)) => {
            agrees(&mut after, call, expected, outcome).then_some(after)
        }
        (Some(Err(errno)), expected) => {
            let mut errors = expected.err().unwrap_or_default();
            errors.extend(may_be_gone(tree, call.operation).then_some(Errno::ENOENT));
            may_fail(call, *errno, &errors).then(|| tree.clone())
        }
        (Some(Ok(_)), Err(_)) => None,
    }
}

/// Whether nobody has the file any more, and the servers have heard of it or not.
fn may_be_gone(tree: &Tree, operation: &Operation) -> bool {
    let node = operation.file().and_then(|id| tree.find(id));
    let file = node.and_then(|node| tree.node(node)?.file());
    file.is_some_and(super::File::may_be_gone)
}

fn may_fail(call: &Call<'_>, errno: Errno, errors: &[Errno]) -> bool {
    let full = call.limited && errno == Errno::ENOSPC;
    let interrupted = matches!(call.operation, Operation::SetLock { wait: true, .. });
    // A file that is gone was never there or is stale, as the implementation likes.
    let errno = if errno == Errno::ESTALE {
        Errno::ENOENT
    } else {
        errno
    };
    full || errors.contains(&errno) || (interrupted && errno == Errno::EINTR)
}

fn run(tree: &mut Tree, call: &Call<'_>, slice: Slice) -> Result<Expected, Errors> {
    use Operation as O;
    match call.operation {
        O::Lookup { .. }
        | O::Create { .. }
        | O::CreateUnnamed { .. }
        | O::MakeDirectory { .. }
        | O::Unlink { .. }
        | O::RemoveDirectory { .. }
        | O::Rename { .. }
        | O::Link { .. } => names::run(tree, call, slice),
        O::Truncate { .. }
        | O::Read { .. }
        | O::Write { .. }
        | O::Append { .. }
        | O::Allocate { .. }
        | O::SeekData { .. }
        | O::SeekHole { .. }
        | O::CopyRange { .. } => data::run(tree, call, slice),
        O::TestLock { .. } | O::SetLock { .. } => locks::run(tree, call),
        O::ReadDirectory { directory, .. } => {
            super::apply::directory(tree, *directory).map(|_| Expected::Any)
        }
        O::Expire => {
            tree.expire(call.client, |_| true);
            Ok(Expected::Any)
        }
        O::ExpireAt(files) => {
            let is_there = |id: Option<FileId>| id.is_some_and(|id| files.contains(&id));
            tree.expire(call.client, is_there);
            Ok(Expected::Any)
        }
        _ => attributes::run(tree, call),
    }
}

/// A directory that exists.
pub(super) fn directory(tree: &Tree, id: FileId) -> Result<NodeId, Errors> {
    let node = tree.find(id).ok_or_else(|| vec![Errno::ENOENT])?;
    match tree.node(node).and_then(super::Node::entries) {
        Some(_) => Ok(node),
        None => Err(vec![Errno::ENOTDIR]),
    }
}

/// A file or directory that exists.
pub(super) fn existing(tree: &Tree, id: FileId) -> Result<NodeId, Errors> {
    tree.find(id).ok_or_else(|| vec![Errno::ENOENT])
}

fn agrees(tree: &mut Tree, call: &Call<'_>, expected: Expected, seen: &Outcome) -> bool {
    match (expected, seen) {
        (Expected::Any, _) | (_, Outcome::Done) => true,
        (Expected::File(node, new), Outcome::File(state, created)) => {
            let seen = &state.attributes;
            new == *created
                && tree.identify(node, seen.id)
                && attributes_agree(tree, call, node, seen)
        }
        (Expected::Identity(node) | Expected::File(node, _), Outcome::Identity(id)) => {
            tree.identify(node, *id)
        }
        (
            Expected::Data {
                offset,
                length,
                from,
                to,
                content,
            },
            Outcome::Bytes(bytes),
        ) => {
            length.is_none_or(|length| length == bytes.len() as u64)
                && Content::of_bytes(offset, bytes).within(from, to) == content
        }
        (Expected::Bytes(expected), Outcome::Bytes(bytes)) => expected == *bytes,
        (Expected::Number(expected), Outcome::Number(number)) => expected == *number,
        (Expected::Names(expected), Outcome::Names(names)) => {
            names.len() == expected.len() && names.iter().all(|name| expected.contains(name))
        }
        (Expected::Lock(expected), Outcome::Lock(lock)) => expected == lock.is_some(),
        _ => false,
    }
}

/// Attributes that come along with a name are those of a moment close to it; asked for by
/// themselves, a file's are exact. A directory's are put together from several servers.
fn attributes_agree(tree: &Tree, call: &Call<'_>, node: NodeId, seen: &Attributes) -> bool {
    let by_itself = matches!(
        call.operation,
        Operation::Attributes(_) | Operation::SetMode { .. } | Operation::SetOwner { .. }
    );
    if call.alone && !tree.allocation_agrees(node, seen) {
        return false;
    }
    if call.alone || (by_itself && seen.kind != Kind::Directory) {
        return tree.attributes_agree(node, seen);
    }
    tree.node(node).is_some_and(|node| node.kind() == seen.kind)
}
