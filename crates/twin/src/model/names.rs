//! Names: what comes, goes and moves in directories.

use super::apply::{Errors, Expected, directory};
use super::{
    Body, Call, Content, File, NewKind, Node, NodeId, Operation, Slice, Tree, released_tag,
};
use futago_base::{Errno, FileId, Kind, Name};
use futago_client::RenameFlags;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) fn run(tree: &mut Tree, call: &Call<'_>, slice: Slice) -> Result<Expected, Errors> {
    use Operation as O;
    match call.operation {
        O::Lookup { directory, name } => lookup(tree, *directory, name),
        O::Create { .. } => create(tree, call),
        O::CreateUnnamed { directory, mode } => create_unnamed(tree, call, *directory, *mode),
        O::MakeDirectory {
            directory,
            name,
            mode,
        } => make_directory(tree, call, *directory, name, *mode),
        O::Unlink { .. } if slice == Slice::Links => Ok(drop_link(tree, call)),
        O::Unlink { directory, name } => unlink(tree, call, *directory, name),
        O::RemoveDirectory { directory, name } => remove_directory(tree, *directory, name),
        O::Rename {
            directory,
            name,
            new_directory,
            new_name,
            flags,
        } => rename(
            tree,
            call,
            Place::new(*directory, name),
            Place::new(*new_directory, new_name),
            *flags,
        ),
        O::Link {
            id,
            directory,
            name,
        } => link(tree, *id, *directory, name),
        _ => Err(vec![Errno::ENOSYS]),
    }
}

fn lookup(tree: &Tree, parent: FileId, name: &Name) -> Result<Expected, Errors> {
    let parent = directory(tree, parent)?;
    let node = tree
        .entry(parent, name)
        .ok_or_else(|| vec![Errno::ENOENT])?;
    Ok(Expected::File(node, false))
}

fn put(tree: &mut Tree, directory: NodeId, name: &Name, node: NodeId) {
    if let Some(entries) = tree.node_mut(directory).and_then(Node::entries_mut) {
        entries.insert(name.clone(), node);
    }
}

fn remove(tree: &mut Tree, directory: NodeId, name: &Name) {
    if let Some(entries) = tree.node_mut(directory).and_then(Node::entries_mut) {
        entries.remove(name);
    }
}

/// The group of a new node in a directory.
fn inherited_gid(tree: &Tree, parent: NodeId) -> (u32, bool) {
    match tree.node(parent) {
        Some(node) if node.mode & 0o2000 != 0 => (node.gid, true),
        _ => (0, false),
    }
}

fn insert(tree: &mut Tree, call: &Call<'_>, parent: NodeId, name: &Name, mode: u16, body: Body) {
    make(tree, call, parent, mode, body);
    put(tree, parent, name, call.new_node());
}

fn make(tree: &mut Tree, call: &Call<'_>, parent: NodeId, mode: u16, body: Body) {
    let (gid, _) = inherited_gid(tree, parent);
    let node = Node {
        id: None,
        mode,
        uid: 0,
        gid,
        xattrs: BTreeMap::new(),
        body,
    };
    tree.nodes.insert(call.new_node(), Rc::new(node));
}

fn create_unnamed(
    tree: &mut Tree,
    call: &Call<'_>,
    parent: FileId,
    mode: u16,
) -> Result<Expected, Errors> {
    let parent = directory(tree, parent)?;
    let file = File {
        links: 0,
        linkable: true,
        ..new_file(NewKind::File(0), 0, Some(call.client))
    };
    make(tree, call, parent, mode, Body::File(file));
    Ok(Expected::File(call.new_node(), true))
}

fn create(tree: &mut Tree, call: &Call<'_>) -> Result<Expected, Errors> {
    let Operation::Create {
        directory: parent,
        name,
        kind,
        mode,
        exclusive,
        open,
        tag,
    } = call.operation
    else {
        return Err(vec![Errno::ENOSYS]);
    };
    let parent = directory(tree, *parent)?;
    if let Some(node) = tree.entry(parent, name) {
        if *exclusive {
            return Err(vec![Errno::EEXIST]);
        }
        let regular = tree.node(node).map(Node::kind) == Some(Kind::File);
        if *open
            && regular
            && let Some(file) = tree.node_mut(node).and_then(Node::file_mut)
        {
            *file.opens.entry(call.client).or_default() += 1;
        }
        return Ok(Expected::File(node, false));
    }
    let file = new_file(*kind, *tag, open.then_some(call.client));
    insert(tree, call, parent, name, *mode, Body::File(file));
    Ok(Expected::File(call.new_node(), true))
}

fn new_file(kind: NewKind, tag: u8, opener: Option<usize>) -> File {
    let mut file = File {
        kind: Kind::Fifo,
        links: 1,
        linkable: false,
        size: 0,
        data: Content::default(),
        target: Vec::new(),
        opens: BTreeMap::new(),
        released: false,
        locks: BTreeMap::new(),
    };
    match kind {
        NewKind::File(bytes) | NewKind::Released(bytes) => {
            let size = u64::from(bytes);
            let is_released = matches!(kind, NewKind::Released(_));
            file.kind = Kind::File;
            file.size = size;
            let tag = if is_released { released_tag(size) } else { tag };
            file.data.write(0, size, tag);
            file.opens = opener.map(|client| (client, 1)).into_iter().collect();
        }
        NewKind::Symlink => {
            file.kind = Kind::Symlink;
            file.target = vec![tag; 8];
        }
        NewKind::Fifo => {}
    }
    file
}

fn make_directory(
    tree: &mut Tree,
    call: &Call<'_>,
    parent: FileId,
    name: &Name,
    mode: u16,
) -> Result<Expected, Errors> {
    let parent = directory(tree, parent)?;
    if tree.entry(parent, name).is_some() {
        return Err(vec![Errno::EEXIST]);
    }
    let (_, inherits) = inherited_gid(tree, parent);
    let mode = if inherits { mode | 0o2000 } else { mode };
    let body = Body::Directory {
        parent,
        entries: BTreeMap::new(),
    };
    insert(tree, call, parent, name, mode, body);
    Ok(Expected::File(call.new_node(), true))
}

fn unlink(
    tree: &mut Tree,
    call: &Call<'_>,
    parent: FileId,
    name: &Name,
) -> Result<Expected, Errors> {
    let parent = directory(tree, parent)?;
    let node = tree
        .entry(parent, name)
        .ok_or_else(|| vec![Errno::ENOENT])?;
    if tree.node(node).and_then(Node::file).is_none() {
        return Err(vec![Errno::EISDIR]);
    }
    remove(tree, parent, name);
    tree.dropping.insert(call.index, node);
    Ok(Expected::Done)
}

fn drop_link(tree: &mut Tree, call: &Call<'_>) -> Expected {
    if let Some(node) = tree.dropping.remove(&call.index) {
        lose_name(tree, node);
    }
    Expected::Any
}

/// A file has a name less; a directory that is replaced is gone.
fn lose_name(tree: &mut Tree, node: NodeId) {
    match tree.node_mut(node).and_then(Node::file_mut) {
        Some(file) => {
            file.links = file.links.saturating_sub(1);
            tree.forget_unused(node);
        }
        None => {
            tree.nodes.remove(&node);
        }
    }
}

fn is_directory(tree: &Tree, node: NodeId) -> bool {
    tree.node(node).is_some_and(|node| node.entries().is_some())
}

fn has_entries(tree: &Tree, node: NodeId) -> bool {
    let entries = tree.node(node).and_then(Node::entries);
    entries.is_some_and(|entries| !entries.is_empty())
}

fn remove_directory(tree: &mut Tree, parent: FileId, name: &Name) -> Result<Expected, Errors> {
    let parent = directory(tree, parent)?;
    let node = tree
        .entry(parent, name)
        .ok_or_else(|| vec![Errno::ENOENT])?;
    if !is_directory(tree, node) {
        return Err(vec![Errno::ENOTDIR]);
    }
    if has_entries(tree, node) {
        return Err(vec![Errno::ENOTEMPTY]);
    }
    remove(tree, parent, name);
    tree.nodes.remove(&node);
    Ok(Expected::Done)
}

fn link(tree: &mut Tree, id: FileId, parent: FileId, name: &Name) -> Result<Expected, Errors> {
    let mut errors = Vec::new();
    let file = tree.find(id);
    match file {
        Some(file) if is_directory(tree, file) => errors.push(Errno::EPERM),
        Some(file) => {
            let file = tree.node(file).and_then(Node::file);
            let gone = file.is_some_and(|file| file.links == 0 && !file.linkable);
            errors.extend(gone.then_some(Errno::ENOENT));
        }
        None => errors.push(Errno::ENOENT),
    }
    match directory(tree, parent) {
        Ok(parent) if tree.entry(parent, name).is_some() => errors.push(Errno::EEXIST),
        Ok(_) => {}
        Err(more) => errors.extend(more),
    }
    let (Some(node), Ok(parent), true) = (file, directory(tree, parent), errors.is_empty()) else {
        return Err(errors);
    };
    if let Some(file) = tree.node_mut(node).and_then(Node::file_mut) {
        file.links += 1;
        file.linkable = false;
    }
    put(tree, parent, name, node);
    Ok(Expected::File(node, false))
}

/// A name in a directory.
#[derive(Clone, Copy)]
struct Place<'a, D> {
    directory: D,
    name: &'a Name,
}

impl<'a, D> Place<'a, D> {
    const fn new(directory: D, name: &'a Name) -> Self {
        Self { directory, name }
    }
}

/// The nodes at the two ends of a rename.
struct Ends<'a> {
    from: Place<'a, NodeId>,
    to: Place<'a, NodeId>,
    moved: NodeId,
    target: Option<NodeId>,
}

/// The nodes of a rename, or why there are none.
fn ends<'a>(
    tree: &Tree,
    from: Place<'a, FileId>,
    to: Place<'a, FileId>,
    flags: RenameFlags,
) -> Result<Ends<'a>, Errors> {
    let directories = [from, to].map(|place| directory(tree, place.directory));
    let [moved, target] = [(0, from.name), (1, to.name)].map(|(end, name)| {
        let directory: &Result<NodeId, Errors> = &directories[end];
        tree.entry(*directory.as_ref().ok()?, name)
    });
    let wrong = directories.iter().filter_map(|found| found.as_ref().err());
    let mut errors: Errors = wrong.flatten().copied().collect();
    errors.extend(moved.is_none().then_some(Errno::ENOENT));
    errors.extend((flags.no_replace && target.is_some()).then_some(Errno::EEXIST));
    errors.extend((flags.exchange && target.is_none()).then_some(Errno::ENOENT));
    match (directories, moved) {
        ([Ok(from_directory), Ok(to_directory)], Some(moved)) if errors.is_empty() => Ok(Ends {
            from: Place::new(from_directory, from.name),
            to: Place::new(to_directory, to.name),
            moved,
            target,
        }),
        _ => Err(errors),
    }
}

fn rename(
    tree: &mut Tree,
    call: &Call<'_>,
    from: Place<'_, FileId>,
    to: Place<'_, FileId>,
    flags: RenameFlags,
) -> Result<Expected, Errors> {
    let ends = ends(tree, from, to, flags)?;
    if ends.target == Some(ends.moved) {
        return Ok(Expected::Done);
    }
    let errors = obstacles(tree, &ends, flags.exchange);
    if !errors.is_empty() {
        return Err(errors);
    }
    relocate(tree, &ends, flags.exchange);
    if flags.whiteout.is_some() {
        leave_whiteout(tree, call, ends.from);
    }
    Ok(Expected::Done)
}

/// Remembers what the first name of a rename leads to, if it leads anywhere.
pub(super) fn look(tree: &mut Tree, call: &Call<'_>) -> Option<()> {
    let Operation::Rename {
        directory, name, ..
    } = call.operation
    else {
        return None;
    };
    let moved = tree.entry(tree.find(*directory)?, name)?;
    tree.looked.insert(call.index, moved);
    Some(())
}

/// Whether a kernel that has found `moved` under the first name, and now looks up the second one,
/// does not pass the rename on: both are names of one file, or one is a directory and the other is
/// not.
pub(super) fn refused_by_kernel(tree: &Tree, call: &Call<'_>, moved: NodeId) -> bool {
    let Operation::Rename {
        new_directory,
        new_name,
        ..
    } = call.operation
    else {
        return false;
    };
    let directory = tree.find(*new_directory);
    let target = directory.and_then(|directory| tree.entry(directory, new_name));
    let Some(target) = target else { return false };
    match (is_directory(tree, moved), is_directory(tree, target)) {
        (true, false) => call.observed == Some(&Err(Errno::ENOTDIR)),
        (false, true) => call.observed == Some(&Err(Errno::EISDIR)),
        _ => moved == target && call.observed == Some(&Ok(super::Outcome::Done)),
    }
}

/// Why a rename of these two cannot be.
fn obstacles(tree: &Tree, ends: &Ends<'_>, exchange: bool) -> Errors {
    let mut errors = Vec::new();
    if is_directory(tree, ends.moved) && tree.is_within(ends.to.directory, ends.moved) {
        errors.push(Errno::EINVAL);
    }
    let Some(target) = ends.target else {
        return errors;
    };
    if exchange {
        if is_directory(tree, target) && tree.is_within(ends.from.directory, target) {
            errors.push(Errno::EINVAL);
        }
        return errors;
    }
    match (is_directory(tree, ends.moved), is_directory(tree, target)) {
        (true, false) => errors.push(Errno::ENOTDIR),
        (false, true) => errors.push(Errno::EISDIR),
        _ => {}
    }
    if has_entries(tree, target) {
        errors.push(Errno::ENOTEMPTY);
    }
    errors
}

fn relocate(tree: &mut Tree, ends: &Ends<'_>, exchange: bool) {
    remove(tree, ends.from.directory, ends.from.name);
    match ends.target {
        Some(target) if exchange => settle(tree, target, ends.from),
        Some(target) => lose_name(tree, target),
        None => {}
    }
    settle(tree, ends.moved, ends.to);
}

fn leave_whiteout(tree: &mut Tree, call: &Call<'_>, place: Place<'_, NodeId>) {
    let file = File {
        kind: Kind::CharacterDevice,
        ..new_file(NewKind::Fifo, 0, None)
    };
    let node = Node {
        id: None,
        mode: 0,
        uid: 0,
        gid: 0,
        xattrs: BTreeMap::new(),
        body: Body::File(file),
    };
    tree.nodes.insert(call.new_node(), Rc::new(node));
    put(tree, place.directory, place.name, call.new_node());
}

fn settle(tree: &mut Tree, node: NodeId, place: Place<'_, NodeId>) {
    put(tree, place.directory, place.name, node);
    if let Some(Body::Directory { parent, .. }) = tree.node_mut(node).map(|node| &mut node.body) {
        *parent = place.directory;
    }
}
