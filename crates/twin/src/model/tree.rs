//! The reference: a POSIX tree in the plainest form.

use super::{Content, content::Run, released_tag};
use futago_base::{Attributes, FileId, Kind, Name, XattrName};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The unit in which `stat` counts data, in bytes.
const STAT_BLOCK_BYTES: u64 = 512;

/// A node within a tree: known before the file system has reported the file's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The holder of a lock: family, client and owner.
pub type Locker = (u8, usize, u64);

/// A file, directory or other node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The identity that the file system gave it, once that has been seen.
    pub id: Option<FileId>,
    /// The low 12 bits of `st_mode`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Extended attributes.
    pub xattrs: BTreeMap<XattrName, Vec<u8>>,
    /// The state that depends on its kind.
    pub body: Body,
}

/// The state of a node that depends on its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// A directory.
    Directory {
        /// The directory above.
        parent: NodeId,
        /// Its entries.
        entries: BTreeMap<Name, NodeId>,
    },
    /// Anything else.
    File(File),
}

/// The state of a node other than a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// Its kind.
    pub kind: Kind,
    /// Number of names.
    pub links: u32,
    /// Whether it was made without a name and may be given one.
    pub linkable: bool,
    /// Size of a regular file.
    pub size: u64,
    /// Data of a regular file, also beyond its size while a write is under way.
    pub data: Content,
    /// Target of a symbolic link.
    pub target: Vec<u8>,
    /// How often each client has it open.
    pub opens: BTreeMap<usize, u32>,
    /// Whether a client has let it go without waiting until the servers have heard of it, or it was
    /// nobody's any more when a session ended. That waits for no lease, so a client with a lease
    /// continues to read the file.
    pub released: bool,
    /// Locks: a tag of 1 is shared, 2 exclusive.
    pub locks: BTreeMap<Locker, Content>,
}

/// The home's part of an operation whose chunks may be still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    /// The file.
    pub node: NodeId,
    /// Where it takes place.
    pub offset: u64,
    /// The smallest size that the file has been cut to since.
    pub cut: u64,
}

/// The tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    /// All nodes; the root is node 0.
    pub nodes: BTreeMap<NodeId, Rc<Node>>,
    /// Files that have lost a name by an operation, but whose count of links does not say so yet.
    pub dropping: BTreeMap<usize, NodeId>,
    /// The nodes that renames have found under their first names.
    pub looked: BTreeMap<usize, NodeId>,
    /// The parts at the home of operations that change chunks.
    pub placed: BTreeMap<usize, Placed>,
}

impl Node {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match &self.body {
            Body::Directory { .. } => Kind::Directory,
            Body::File(file) => file.kind,
        }
    }

    /// A directory's entries.
    pub const fn entries(&self) -> Option<&BTreeMap<Name, NodeId>> {
        match &self.body {
            Body::Directory { entries, .. } => Some(entries),
            Body::File(_) => None,
        }
    }

    /// A directory's entries.
    pub const fn entries_mut(&mut self) -> Option<&mut BTreeMap<Name, NodeId>> {
        match &mut self.body {
            Body::Directory { entries, .. } => Some(entries),
            Body::File(_) => None,
        }
    }

    /// The state of a node other than a directory.
    pub const fn file(&self) -> Option<&File> {
        match &self.body {
            Body::Directory { .. } => None,
            Body::File(file) => Some(file),
        }
    }

    /// The state of a node other than a directory.
    pub const fn file_mut(&mut self) -> Option<&mut File> {
        match &mut self.body {
            Body::Directory { .. } => None,
            Body::File(file) => Some(file),
        }
    }
}

impl File {
    /// Whether it has neither names nor registrations.
    fn is_unused(&self) -> bool {
        self.links == 0 && self.opens.is_empty()
    }

    /// Whether a client has it open or locked.
    pub fn is_held_by(&self, client: usize) -> bool {
        self.opens.contains_key(&client) || self.locks.keys().any(|locker| locker.1 == client)
    }

    /// Whether nobody has it any more, and the servers have heard of it or not.
    pub fn may_be_gone(&self) -> bool {
        self.is_unused() && self.released
    }
}

impl Tree {
    /// The root of every tree.
    pub const ROOT: NodeId = NodeId(0);

    /// An empty tree, with the mode, owner and group of its root.
    pub fn new(mode: u16, uid: u32, gid: u32) -> Self {
        let root = Node {
            id: Some(FileId::ROOT),
            mode,
            uid,
            gid,
            xattrs: BTreeMap::new(),
            body: Body::Directory {
                parent: Self::ROOT,
                entries: BTreeMap::new(),
            },
        };
        Self {
            nodes: BTreeMap::from([(Self::ROOT, Rc::new(root))]),
            dropping: BTreeMap::new(),
            looked: BTreeMap::new(),
            placed: BTreeMap::new(),
        }
    }

    /// A node that exists.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id).map(Rc::as_ref)
    }

    /// A node to change.
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(&id).map(Rc::make_mut)
    }

    /// The node that the file system calls `id`.
    pub fn find(&self, id: FileId) -> Option<NodeId> {
        let mut nodes = self.nodes.iter();
        let (&node, _) = nodes.find(|(_, node)| node.id == Some(id))?;
        Some(node)
    }

    /// Takes note that the file system calls `node` `id`; false if it has called it otherwise, or
    /// called another so.
    pub fn identify(&mut self, node: NodeId, id: FileId) -> bool {
        match self.find(id) {
            Some(known) => known == node,
            None => match self.node_mut(node) {
                Some(node) if node.id.is_none() => {
                    node.id = Some(id);
                    true
                }
                _ => false,
            },
        }
    }

    /// Where a name leads.
    pub fn entry(&self, directory: NodeId, name: &Name) -> Option<NodeId> {
        self.node(directory)?.entries()?.get(name).copied()
    }

    /// Whether `node` is `directory` or lies below it.
    pub fn is_within(&self, node: NodeId, directory: NodeId) -> bool {
        let mut at = node;
        loop {
            if at == directory {
                return true;
            }
            match self.node(at).map(|node| &node.body) {
                Some(Body::Directory { parent, .. }) if *parent != at => at = *parent,
                _ => return false,
            }
        }
    }

    /// Removes a file that has neither names nor registrations.
    pub fn forget_unused(&mut self, node: NodeId) {
        let file = self.node(node).and_then(Node::file);
        if file.is_some_and(|file| file.is_unused() && !file.released) {
            self.nodes.remove(&node);
        }
    }

    /// A client is gone: its registrations and locks are, those of some files at least.
    pub fn expire(&mut self, client: usize, concerns: impl Fn(Option<FileId>) -> bool) {
        let held = self.nodes.iter().filter(|(_, node)| {
            concerns(node.id) && node.file().is_some_and(|file| file.is_held_by(client))
        });
        let held: Vec<NodeId> = held.map(|(&id, _)| id).collect();
        for id in held {
            if let Some(file) = self.node_mut(id).and_then(Node::file_mut) {
                file.opens.remove(&client);
                file.locks.retain(|locker, _| locker.1 != client);
                file.released |= file.is_unused();
            }
        }
    }

    /// The tree without the files that nobody has any more.
    pub fn without_unused(&self) -> Self {
        let mut tree = self.clone();
        let is_used = |node: &Node| !node.file().is_some_and(File::may_be_gone);
        tree.nodes.retain(|_, node| is_used(node));
        tree
    }

    /// Whether `seen` is what `stat` tells of a node.
    pub fn attributes_agree(&self, id: NodeId, seen: &Attributes) -> bool {
        let Some(node) = self.node(id) else {
            return false;
        };
        let (links, size) = match &node.body {
            Body::Directory { entries, .. } => {
                (2 + self.subdirectories(entries), entries.len() as u64)
            }
            Body::File(file) => match file.kind {
                Kind::Symlink => (file.links, file.target.len() as u64),
                _ => (file.links, file.size),
            },
        };
        (seen.kind, seen.mode, seen.uid, seen.gid) == (node.kind(), node.mode, node.uid, node.gid)
            && (seen.links, seen.size) == (links, size)
    }

    /// Whether `seen` tells, in blocks as `stat` does, how much of a file is data: at least what is
    /// not zero, as zeros may be data or hole. That is put together from several servers.
    pub fn allocation_agrees(&self, id: NodeId, seen: &Attributes) -> bool {
        let file = self.node(id).and_then(Node::file);
        let Some(file) = file.filter(|file| file.kind == Kind::File) else {
            return true;
        };
        let data = file.data.within(0, file.size);
        let data_bytes: u64 = data.runs().iter().map(|run| run.to - run.from).sum();
        let blocks = |bytes: u64| bytes.div_ceil(STAT_BLOCK_BYTES);
        let possible = blocks(data_bytes)..=blocks(file.size);
        let is_released =
            |run: &Run| (run.from, run.to, run.tag) == (0, file.size, released_tag(file.size));
        let may_be_released = data.runs().first().is_some_and(is_released);
        let reported = seen.allocated_bytes.map(blocks);
        reported
            .is_none_or(|reported| possible.contains(&reported) || reported == 0 && may_be_released)
    }

    fn subdirectories(&self, entries: &BTreeMap<Name, NodeId>) -> u32 {
        let nodes = entries.values().filter_map(|&id| self.node(id));
        nodes.filter(|node| node.entries().is_some()).count() as u32
    }
}
