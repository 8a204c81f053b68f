//! The tree that the servers' records describe.

use crate::model::{Body, Content, File, Node, NodeId, Tree, released_tag};
use futago_base::{
    ChunkId, FileId, Key, Kind, SessionId, Value, View,
    record::{Inode, LockKind, LockSpace, Opener},
};
use futago_store::MemoryStore;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A file, a client that has it open without its home's knowing, and how often.
pub type UnregisteredOpen = (FileId, usize, u32);

/// Reads the tree from the records of all servers, which must be at rest, and from the clients'
/// tables of open files. `clients` maps sessions to clients.
pub fn snapshot(
    stores: &[&MemoryStore],
    clients: &BTreeMap<SessionId, usize>,
    unregistered: &[UnregisteredOpen],
) -> Tree {
    let records: Vec<(&Key, &Value)> = stores.iter().flat_map(|store| store.records()).collect();
    let numbers = numbers(&records);
    let mut tree = Tree::new(0, 0, 0);
    for (key, value) in &records {
        if let (Key::Inode(id), Value::Inode(inode)) = (key, value) {
            let node = node(*id, inode, &numbers, stores);
            tree.nodes.insert(numbers[id], Rc::new(node));
        }
    }
    for (key, value) in &records {
        attach(&mut tree, &numbers, clients, key, value);
    }
    for (id, client, count) in unregistered {
        let node = numbers.get(id).and_then(|&node| tree.node_mut(node));
        if let Some(Body::File(file)) = node.map(|node| &mut node.body) {
            *file.opens.entry(*client).or_default() += count;
        }
    }
    tree
}

fn numbers(records: &[(&Key, &Value)]) -> BTreeMap<FileId, NodeId> {
    let ids = records.iter().filter_map(|(key, _)| match key {
        Key::Inode(id) if *id != FileId::ROOT => Some(*id),
        _ => None,
    });
    let root = (FileId::ROOT, Tree::ROOT);
    let others = ids.zip((1..).map(NodeId));
    std::iter::once(root).chain(others).collect()
}

fn node(
    id: FileId,
    inode: &Inode,
    numbers: &BTreeMap<FileId, NodeId>,
    stores: &[&MemoryStore],
) -> Node {
    let body = match inode.place {
        Some(place) => Body::Directory {
            // A parent that does not exist is no node's.
            parent: numbers
                .get(&place.parent)
                .copied()
                .unwrap_or(NodeId(u32::MAX)),
            entries: BTreeMap::new(),
        },
        None => Body::File(File {
            kind: inode.kind,
            links: inode.links,
            linkable: inode.linkable,
            size: if inode.kind == Kind::File {
                inode.size
            } else {
                0
            },
            data: data(id, inode, stores),
            target: inode.target.to_vec(),
            opens: BTreeMap::new(),
            released: false,
            locks: BTreeMap::new(),
        }),
    };
    Node {
        id: Some(id),
        mode: inode.mode,
        uid: inode.uid,
        gid: inode.gid,
        xattrs: BTreeMap::new(),
        body,
    }
}

fn data(id: FileId, inode: &Inode, stores: &[&MemoryStore]) -> Content {
    let mut content = Content::default();
    if inode.released {
        content.write(0, inode.size, released_tag(inode.size));
        return content;
    }
    let chunk_bytes = u64::from(inode.chunk_bytes.max(1));
    for index in 0..inode.size.div_ceil(chunk_bytes) {
        let chunk = ChunkId { file: id, index };
        let extents = stores.iter().find_map(|store| store.data(chunk));
        for (offset, piece) in extents.into_iter().flat_map(|e| e.read(0, u32::MAX)) {
            let start = index * chunk_bytes + u64::from(offset);
            for run in Content::of_bytes(start, &piece.bytes()).runs() {
                content.write(run.from, run.to, run.tag);
            }
        }
    }
    content.within(0, inode.size)
}

fn attach(
    tree: &mut Tree,
    numbers: &BTreeMap<FileId, NodeId>,
    clients: &BTreeMap<SessionId, usize>,
    key: &Key,
    value: &Value,
) {
    let client = |session: &SessionId| clients.get(session).copied().unwrap_or(usize::MAX);
    let id = match key {
        Key::Xattr(id, _) | Key::Entry(id, ..) | Key::Opens(id) | Key::Locks(id) => id,
        _ => return,
    };
    let Some(node) = numbers.get(id).and_then(|&node| tree.node_mut(node)) else {
        return;
    };
    match (key, value, &mut node.body) {
        (Key::Xattr(_, name), Value::Bytes(bytes), _) => {
            node.xattrs.insert(name.clone(), bytes.to_vec());
        }
        (Key::Entry(_, _, name), Value::Entry(entry), Body::Directory { entries, .. }) => {
            let node = numbers.get(&entry.id).copied();
            entries.insert(name.clone(), node.unwrap_or(NodeId(u32::MAX)));
        }
        (Key::Opens(_), Value::Opens(opens), Body::File(file)) => {
            let opened = |opener: &Opener| (client(&opener.session), opener.count);
            file.opens = opens.iter().map(opened).collect();
        }
        (Key::Locks(_), Value::Locks(locks), Body::File(file)) => {
            for lock in locks {
                let space = u8::from(lock.space == LockSpace::Whole);
                let locker = (space, client(&lock.owner.session), lock.owner.owner);
                let tag = if lock.kind == LockKind::Shared { 1 } else { 2 };
                let end = lock.range.end.saturating_add(1);
                let held = file.locks.entry(locker).or_default();
                held.write(lock.range.start, end, tag);
            }
        }
        _ => {}
    }
}

/// In what the tree that operations lead to differs from the one that the servers hold; nodes whose
/// identity no client has seen are known by their names.
pub(super) fn difference(expected: &Tree, found: &Tree) -> Option<String> {
    let expected = &expected.without_unused();
    let mut pairs = vec![(Tree::ROOT, Tree::ROOT, String::from("/"))];
    let mut paired: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    pairs.extend(nameless(expected, found));
    while let Some((left, right, path)) = pairs.pop() {
        if paired
            .insert(left, right)
            .is_some_and(|other| other != right)
        {
            return Some(format!("{path}: not the same file as under its other name"));
        }
        let (Some(a), Some(b)) = (expected.node(left), found.node(right)) else {
            return Some(format!("{path}: there is no such node"));
        };
        if let Some(text) = node_difference(a, b) {
            return Some(format!("{path}: {text}"));
        }
        let (Some(a), Some(b)) = (a.entries(), b.entries()) else {
            continue;
        };
        if !a.keys().eq(b.keys()) {
            let (a, b): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            return Some(format!("{path}: expected {a:?}, found {b:?}"));
        }
        let children = a.iter().zip(b.values());
        let children = children.map(|((name, &l), &r)| (l, r, format!("{path}{name}/")));
        let new = children.filter(|(l, r, _)| paired.get(l) != Some(r));
        pairs.extend(new.collect::<Vec<_>>());
    }
    let lost = found.nodes.len() - expected.nodes.len().min(found.nodes.len());
    (expected.nodes.len() != found.nodes.len() || !expected.dropping.is_empty()).then(|| {
        format!(
            "nodes without a name: {lost} more than expected, {:?}",
            expected.dropping
        )
    })
}

/// Files that are open but have no name, by their identity.
fn nameless(expected: &Tree, found: &Tree) -> Vec<(NodeId, NodeId, String)> {
    let orphans = expected
        .nodes
        .iter()
        .filter(|(_, node)| node.file().is_some_and(|file| file.links == 0));
    let pairs = orphans.filter_map(|(&left, node)| {
        let id = node.id?;
        let right = found.find(id).unwrap_or(NodeId(u32::MAX));
        Some((left, right, format!("<{id}>")))
    });
    pairs.collect()
}

fn node_difference(expected: &Node, found: &Node) -> Option<String> {
    let mut a = expected.clone();
    let mut b = found.clone();
    a.id = a.id.or(b.id);
    for node in [&mut a, &mut b] {
        if let Some(file) = node.file_mut() {
            file.data = file.visible_data();
        }
        if let Body::Directory { parent, entries } = &mut node.body {
            // Entries are compared by name; a parent is what leads here.
            *parent = Tree::ROOT;
            entries.clear();
        }
    }
    (a != b).then(|| format!("expected {a:?}, found {b:?}"))
}
