//! The directories of the kernel's nodes.
//!
//! The kernel knows a directory in one place: it moves a node that it finds elsewhere. It cannot do
//! so within a rename from one directory to another, which would fail with `ESTALE` if another
//! mount had moved the directory. So a directory that is found in another place than its node gets
//! a further node. Everything but a directory has its file id for a node, and so has a directory
//! that is found for the first time.
//!
//! The kernel does not notice changes through one node of a directory under another one. So it
//! caches nothing of a directory, its names included, while that has several nodes.

use crate::interruption::locked;
use futago_base::{Errno, FileId, Name, limits};
use futago_fuse_kernel::Forget;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// Further nodes count up from here; the highest bit of a file id is never set.
const FURTHER_FIRST: u64 = 1 << 63;
const _: () = assert!(limits::PARTITIONS <= 1 << 15);

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The node of the directory.
    pub parent: u64,
    /// The name.
    pub name: Name,
}

impl Place {
    /// A name in the directory of a node.
    pub fn new(parent: u64, name: &Name) -> Self {
        let name = name.clone();
        Self { parent, name }
    }
}

/// The directories that the kernel knows.
#[derive(Debug)]
pub struct DirectoryNodes {
    table: Mutex<Table>,
    generation: u64,
}

#[derive(Debug)]
struct Table {
    nodes: HashMap<u64, Node>,
    places: HashMap<Place, u64>,
    /// The further nodes of those directories that have any.
    further: HashMap<FileId, Vec<u64>>,
    /// The next further node.
    next: u64,
}

#[derive(Debug)]
struct Node {
    directory: FileId,
    /// Where the kernel knows it, unless something else has been found there since.
    place: Option<Place>,
    /// How often a reply named it and the kernel has not forgotten it. None: a reply is about to.
    lookups: u64,
    /// The kernel has a handle of it, and has not found it anywhere yet.
    is_unplaced: bool,
}

impl Default for DirectoryNodes {
    fn default() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let table = Table {
            nodes: HashMap::new(),
            places: HashMap::new(),
            further: HashMap::new(),
            next: FURTHER_FIRST,
        };
        Self {
            table: Mutex::new(table),
            generation: since_1970.as_nanos() as u64,
        }
    }
}

impl DirectoryNodes {
    /// The file of a node. Errors: `ESTALE` for a further node that is forgotten.
    pub fn file(&self, node: u64) -> Result<FileId, Errno> {
        if node < FURTHER_FIRST {
            return Ok(FileId(node));
        }
        let table = locked(&self.table);
        let known = table.nodes.get(&node).ok_or(Errno::ESTALE)?;
        Ok(known.directory)
    }

    /// Where the kernel knows a node.
    pub fn place(&self, node: u64) -> Option<Place> {
        let table = locked(&self.table);
        table.nodes.get(&node)?.place.clone()
    }

    /// The node of the directory that the kernel knows in a place.
    pub fn known_node(&self, parent: u64, name: &Name) -> Option<u64> {
        locked(&self.table).at(&Place::new(parent, name))
    }

    /// The directory that the kernel knows in a place.
    pub fn known_at(&self, parent: u64, name: &Name) -> Option<FileId> {
        let table = locked(&self.table);
        let node = table.at(&Place::new(parent, name))?;
        table.nodes.get(&node).map(|known| known.directory)
    }

    /// The nodes of a directory, none of anything else. The root has one that no reply ever
    /// named.
    pub fn nodes(&self, directory: FileId) -> Vec<u64> {
        let table = locked(&self.table);
        let is_known = directory == FileId::ROOT || table.is(directory.0, directory);
        let own = is_known.then_some(directory.0);
        let further = table.further.get(&directory).into_iter().flatten();
        own.into_iter().chain(further.copied()).collect()
    }

    /// Whether the kernel may keep something of a directory: it knows it by one node at most.
    pub fn is_single(&self, directory: FileId) -> bool {
        locked(&self.table).is_single(directory)
    }

    /// Whether a reply named a node, a directory's, and the kernel has not forgotten it.
    pub fn contains(&self, node: u64) -> bool {
        let table = locked(&self.table);
        table
            .nodes
            .get(&node)
            .is_some_and(|known| known.lookups > 0)
    }

    /// Tells further nodes of this mount from those of one before it.
    pub const fn generation(&self, node: u64) -> u64 {
        if node < FURTHER_FIRST {
            0
        } else {
            self.generation
        }
    }

    /// A directory was found in a place, which no reply has named yet. Returns whether the kernel
    /// knows the directory elsewhere: then it must forget what it keeps of it first.
    pub fn is_found_elsewhere(&self, parent: u64, name: &Name, directory: FileId) -> bool {
        let mut table = locked(&self.table);
        let node = table.node_at(Place::new(parent, name), directory);
        let is_new = table.nodes.get(&node).is_some_and(|it| it.lookups == 0);
        is_new && !table.is_single(directory)
    }

    /// The node of a directory that was found in a place; the reply names it.
    pub fn found(&self, parent: u64, name: &Name, directory: FileId) -> u64 {
        let mut table = locked(&self.table);
        let node = table.node_at(Place::new(parent, name), directory);
        if let Some(known) = table.nodes.get_mut(&node) {
            known.lookups += 1;
        }
        node
    }

    /// A directory was found without a name: the reply names one of its nodes. A new one is
    /// that of the first place in which the directory is found.
    pub fn found_unnamed(&self, directory: FileId) -> u64 {
        if directory == FileId::ROOT {
            return directory.0;
        }
        let mut table = locked(&self.table);
        let node = table.any_node(directory);
        if let Some(known) = table.nodes.get_mut(&node) {
            known.lookups += 1;
        }
        node
    }

    /// A rename through this mount has succeeded: the kernel takes the node along.
    pub fn moved(&self, from: &Place, to: &Place) {
        let mut table = locked(&self.table);
        let moving = table.leave(from);
        table.leave(to);
        table.enter(to.clone(), moving);
    }

    /// A directory was removed through this mount. The kernel takes the node that it knew there for
    /// dead, which may be a directory that another mount has moved away, and back later.
    pub fn removed(&self, place: &Place) {
        locked(&self.table).leave(place);
    }

    /// Two names have been exchanged through this mount.
    pub fn exchanged(&self, one: &Place, other: &Place) {
        let mut table = locked(&self.table);
        let (first, second) = (table.leave(one), table.leave(other));
        table.enter(other.clone(), first);
        table.enter(one.clone(), second);
    }

    /// The kernel forgets nodes, or did not receive the reply that named them. Calls `gone` for
    /// each directory that it does not know any more, before another reply can name it.
    pub fn forget(&self, forgotten: &[Forget], gone: impl Fn(FileId)) {
        let mut table = locked(&self.table);
        for forget in forgotten {
            table
                .forget(forget.node, forget.lookups)
                .into_iter()
                .for_each(&gone);
        }
    }
}

impl Table {
    fn at(&self, place: &Place) -> Option<u64> {
        self.places.get(place).copied()
    }

    fn is(&self, node: u64, directory: FileId) -> bool {
        self.nodes
            .get(&node)
            .is_some_and(|known| known.directory == directory)
    }

    fn is_single(&self, directory: FileId) -> bool {
        let further = self.further.get(&directory).map_or(0, Vec::len);
        further == 0 || (further == 1 && !self.is(directory.0, directory))
    }

    /// The node of a directory in a place, perhaps a new one.
    fn node_at(&mut self, place: Place, directory: FileId) -> u64 {
        match self.at(&place) {
            Some(node) if self.is(node, directory) => node,
            _ => self.settle(place, directory),
        }
    }

    /// Makes a node for a directory in a place.
    fn settle(&mut self, place: Place, directory: FileId) -> u64 {
        self.leave(&place);
        if let Some(known) = self.nodes.get_mut(&directory.0)
            && mem::take(&mut known.is_unplaced)
        {
            self.enter(place, Some(directory.0));
            return directory.0;
        }
        let node = if self.nodes.contains_key(&directory.0) {
            self.next += 1;
            let further = self.further.entry(directory).or_default();
            further.push(self.next - 1);
            self.next - 1
        } else {
            directory.0
        };
        let new = Node {
            directory,
            place: None,
            lookups: 0,
            is_unplaced: false,
        };
        self.nodes.insert(node, new);
        self.enter(place, Some(node));
        node
    }

    /// A node of a directory, wherever the kernel knows it.
    fn any_node(&mut self, directory: FileId) -> u64 {
        let further = self.further.get(&directory).and_then(|nodes| nodes.first());
        match further {
            Some(&node) if !self.nodes.contains_key(&directory.0) => return node,
            _ => {}
        }
        self.nodes.entry(directory.0).or_insert(Node {
            directory,
            place: None,
            lookups: 0,
            is_unplaced: true,
        });
        directory.0
    }

    /// Takes the node in a place, if any, out of it. One that no reply has named is
    /// none.
    fn leave(&mut self, place: &Place) -> Option<u64> {
        let node = self.places.remove(place)?;
        let known = self.nodes.get_mut(&node)?;
        known.place = None;
        if known.lookups == 0 {
            self.remove(node);
            return None;
        }
        Some(node)
    }

    fn enter(&mut self, place: Place, node: Option<u64>) {
        let Some(node) = node else { return };
        if let Some(known) = self.nodes.get_mut(&node) {
            known.place = Some(place.clone());
            self.places.insert(place, node);
        }
    }

    /// Returns the directory if that was the last of its nodes.
    fn forget(&mut self, node: u64, lookups: u64) -> Option<FileId> {
        let known = self.nodes.get_mut(&node)?;
        known.lookups = known.lookups.saturating_sub(lookups);
        if known.lookups > 0 {
            return None;
        }
        let directory = known.directory;
        self.remove(node);
        let is_known = self.is(directory.0, directory) || self.further.contains_key(&directory);
        (!is_known).then_some(directory)
    }

    fn remove(&mut self, node: u64) {
        let Some(known) = self.nodes.remove(&node) else {
            return;
        };
        if let Some(place) = known.place {
            self.places.remove(&place);
        }
        if let Entry::Occupied(mut further) = self.further.entry(known.directory) {
            further.get_mut().retain(|other| *other != node);
            if further.get().is_empty() {
                further.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: FileId = FileId(70);
    const OTHER: FileId = FileId(71);
    const ROOT: u64 = 1;

    fn name(text: &'static str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    fn forget(nodes: &DirectoryNodes, node: u64, lookups: u64) {
        nodes.forget(&[Forget { node, lookups }], |_| ());
    }

    #[test]
    fn a_directory_has_its_own_id_until_it_is_found_elsewhere() {
        let nodes = DirectoryNodes::default();
        assert_eq!(nodes.found(ROOT, &name("a"), DIRECTORY), DIRECTORY.0);
        assert_eq!(nodes.found(ROOT, &name("a"), DIRECTORY), DIRECTORY.0);
        let further = nodes.found(ROOT, &name("b"), DIRECTORY);
        assert_ne!(further, DIRECTORY.0);
        assert_eq!(nodes.found(ROOT, &name("b"), DIRECTORY), further);
        let third = nodes.found(OTHER.0, &name("b"), DIRECTORY);
        assert!(third != further && third != DIRECTORY.0);
        for node in [DIRECTORY.0, further, third] {
            assert_eq!(nodes.file(node), Ok(DIRECTORY));
        }
        assert_eq!(nodes.generation(DIRECTORY.0), 0);
        assert_ne!(nodes.generation(further), 0);
    }

    #[test]
    fn a_rename_takes_the_node_along() {
        let nodes = DirectoryNodes::default();
        let (a, b, c) = (name("a"), name("b"), name("c"));
        nodes.found(ROOT, &a, DIRECTORY);
        nodes.found(ROOT, &b, OTHER);
        nodes.exchanged(&Place::new(ROOT, &a), &Place::new(ROOT, &b));
        assert_eq!(nodes.found(ROOT, &b, DIRECTORY), DIRECTORY.0);
        assert_eq!(nodes.found(ROOT, &a, OTHER), OTHER.0);
        nodes.moved(&Place::new(ROOT, &a), &Place::new(ROOT, &c));
        assert_eq!(nodes.found(ROOT, &c, OTHER), OTHER.0);
        nodes.moved(&Place::new(ROOT, &c), &Place::new(ROOT, &b));
        assert_eq!(nodes.found(ROOT, &b, OTHER), OTHER.0);
        assert_ne!(nodes.found(ROOT, &c, DIRECTORY), DIRECTORY.0);
    }

    #[test]
    fn what_comes_back_to_where_a_directory_was_removed_gets_another_node() {
        let nodes = DirectoryNodes::default();
        let a = name("a");
        nodes.found(ROOT, &a, DIRECTORY);
        nodes.removed(&Place::new(ROOT, &a));
        assert_ne!(nodes.found(ROOT, &a, DIRECTORY), DIRECTORY.0);
    }

    /// Something without a node of its own, such as a file, replaces or joins.
    #[test]
    fn what_comes_into_a_place_drives_the_node_out() {
        let nodes = DirectoryNodes::default();
        let (a, b) = (name("a"), name("b"));
        nodes.found(ROOT, &a, DIRECTORY);
        nodes.exchanged(&Place::new(ROOT, &a), &Place::new(ROOT, &b));
        assert_eq!(nodes.found(ROOT, &a, OTHER), OTHER.0);
        assert_eq!(nodes.found(ROOT, &b, DIRECTORY), DIRECTORY.0);
        nodes.moved(&Place::new(ROOT, &name("file")), &Place::new(ROOT, &b));
        assert_ne!(nodes.found(ROOT, &b, DIRECTORY), DIRECTORY.0);
    }

    #[test]
    fn a_node_is_known_until_every_lookup_is_forgotten() {
        let nodes = DirectoryNodes::default();
        nodes.found(ROOT, &name("a"), DIRECTORY);
        let further = nodes.found(ROOT, &name("b"), DIRECTORY);
        nodes.found(ROOT, &name("b"), DIRECTORY);
        forget(&nodes, further, 1);
        assert_eq!(nodes.file(further), Ok(DIRECTORY));
        forget(&nodes, further, 1);
        assert_eq!(nodes.file(further), Err(Errno::ESTALE));
        forget(&nodes, DIRECTORY.0, 1);
        assert_eq!(nodes.found(ROOT, &name("b"), DIRECTORY), DIRECTORY.0);
        forget(&nodes, DIRECTORY.0, 1);
        let table = locked(&nodes.table);
        assert!(table.nodes.is_empty() && table.places.is_empty() && table.further.is_empty());
    }

    #[test]
    fn a_directory_has_one_node_until_it_is_found_elsewhere_and_after_the_others_are_forgotten() {
        let nodes = DirectoryNodes::default();
        let (a, b) = (name("a"), name("b"));
        assert!(!nodes.is_found_elsewhere(ROOT, &a, DIRECTORY));
        nodes.found(ROOT, &a, DIRECTORY);
        assert!(!nodes.is_found_elsewhere(ROOT, &a, DIRECTORY));
        assert!(nodes.is_single(DIRECTORY));
        assert!(nodes.is_found_elsewhere(ROOT, &b, DIRECTORY));
        assert!(!nodes.is_single(DIRECTORY), "before the kernel is told");
        let further = nodes.found(ROOT, &b, DIRECTORY);
        assert!(!nodes.is_found_elsewhere(ROOT, &b, DIRECTORY));
        assert_eq!(nodes.nodes(DIRECTORY), [DIRECTORY.0, further]);
        assert!(nodes.is_single(OTHER) && !nodes.is_single(DIRECTORY));
        forget(&nodes, DIRECTORY.0, 1);
        assert!(nodes.is_single(DIRECTORY));
        assert_eq!(nodes.nodes(DIRECTORY), [further]);
        assert!(nodes.is_found_elsewhere(ROOT, &a, DIRECTORY));
        assert!(!nodes.is_single(DIRECTORY));
    }

    #[test]
    fn a_directory_of_which_the_kernel_has_a_handle_keeps_its_node_where_it_is_found_first() {
        let nodes = DirectoryNodes::default();
        assert_eq!(nodes.found_unnamed(FileId::ROOT), ROOT);
        assert_eq!(nodes.found_unnamed(DIRECTORY), DIRECTORY.0);
        assert!(!nodes.is_found_elsewhere(ROOT, &name("a"), DIRECTORY));
        assert_eq!(nodes.found(ROOT, &name("a"), DIRECTORY), DIRECTORY.0);
        assert_eq!(nodes.found_unnamed(DIRECTORY), DIRECTORY.0);
        assert_ne!(nodes.found(ROOT, &name("b"), DIRECTORY), DIRECTORY.0);
        forget(&nodes, DIRECTORY.0, 3);
        assert_ne!(
            nodes.found_unnamed(DIRECTORY),
            DIRECTORY.0,
            "it has another one"
        );
    }

    #[test]
    fn a_node_that_no_reply_named_goes_with_its_place() {
        let nodes = DirectoryNodes::default();
        nodes.found(ROOT, &name("a"), DIRECTORY);
        assert!(nodes.is_found_elsewhere(ROOT, &name("b"), DIRECTORY));
        nodes.removed(&Place::new(ROOT, &name("b")));
        assert!(nodes.is_single(DIRECTORY));
        assert_eq!(nodes.nodes(DIRECTORY), [DIRECTORY.0]);
    }
}
