//! A step of a client: an operation on whatever the client knows when it comes to it.

use crate::model::{LockRequest, NewKind, Node, NodeId, Operation, Tree};
use crate::random::Random;
use futago_base::{
    Duration, FileId, Kind, Name, XattrName,
    record::{LockKind, LockSpace},
};
use futago_client::{AllocateMode, Owner, RenameFlags, XattrMode};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Lookup,
    Create,
    CreateUnnamed,
    MakeDirectory,
    Unlink,
    RemoveDirectory,
    Rename,
    Exchange,
    Link,
    Attributes,
    SetAttributes,
    Truncate,
    Open,
    Close,
    Read,
    Write,
    Append,
    Allocate,
    Xattr,
    Lock,
    ReadDirectory,
    Parent,
    /// Only where nothing runs beside it: it is several operations, each by itself.
    SeekOrCopy,
}

/// The pages of a listing that is a search of names, and of one that also tests attributes.
pub const SEARCHED: u32 = 0;
pub const TESTED: u32 = u32::MAX;

/// The most bytes of a released file: some chunks.
const RELEASED_MAX: u32 = 20_000;

/// How often each sort is drawn.
const WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Lookup, 8),
    (Sort::Create, 16),
    (Sort::CreateUnnamed, 2),
    (Sort::MakeDirectory, 9),
    (Sort::Unlink, 8),
    (Sort::RemoveDirectory, 6),
    (Sort::Rename, 14),
    (Sort::Exchange, 3),
    (Sort::Link, 7),
    (Sort::Attributes, 5),
    (Sort::SetAttributes, 5),
    (Sort::Truncate, 3),
    (Sort::Open, 3),
    (Sort::Close, 2),
    (Sort::Read, 4),
    (Sort::Write, 5),
    (Sort::Append, 3),
    (Sort::Allocate, 2),
    (Sort::Xattr, 4),
    (Sort::Lock, 4),
    (Sort::ReadDirectory, 5),
    (Sort::Parent, 1),
    (Sort::SeekOrCopy, 3),
];

/// The same where clients work on data rather than on names.
const DATA_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Create, 3),
    (Sort::Unlink, 1),
    (Sort::Attributes, 1),
    (Sort::Truncate, 6),
    (Sort::Open, 2),
    (Sort::Close, 2),
    (Sort::Read, 8),
    (Sort::Write, 10),
    (Sort::Append, 6),
    (Sort::Allocate, 4),
    (Sort::SeekOrCopy, 4),
];

/// The same for clients that read what others write.
const READING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Attributes, 2),
    (Sort::Open, 3),
    (Sort::Close, 1),
    (Sort::Read, 14),
];

/// The same for clients that look at one file, and change its attributes now and then.
const SHARING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Lookup, 2),
    (Sort::Attributes, 16),
    (Sort::SetAttributes, 1),
    (Sort::Open, 2),
    (Sort::Close, 1),
];

/// The same for clients that move directories.
const MOVING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Rename, 12),
    (Sort::Exchange, 2),
    (Sort::MakeDirectory, 2),
    (Sort::RemoveDirectory, 1),
    (Sort::Lookup, 2),
    (Sort::Parent, 1),
];

/// The same for clients that make directories.
const PLANTING_WEIGHTS: &[(Sort, u64)] = &[(Sort::MakeDirectory, 1)];

/// The same for clients that add to a file again and again.
const APPENDING_WEIGHTS: &[(Sort, u64)] = &[(Sort::Append, 1)];

/// The same for a client that also cuts the file now and then.
const CYCLING_WEIGHTS: &[(Sort, u64)] = &[(Sort::Append, 20), (Sort::Truncate, 2), (Sort::Read, 1)];

/// The same for a client that has a file shrink and grow.
const CUTTING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Truncate, 8),
    (Sort::Write, 6),
    (Sort::Append, 2),
    (Sort::Read, 5),
];

/// The main subject of a client's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Names of files and directories.
    Names,
    /// Data, most of which it changes.
    Data,
    /// Data that it reads.
    Reading,
    /// Attributes, most of which it reads.
    Sharing,
    /// A file that it has shrink and grow.
    Cutting,
    /// Directories that it moves.
    Moving,
    /// Directories that it makes, below one another.
    Planting,
    /// A file that it opens, adds to and closes.
    Appending,
    /// The same, and it cuts the file now and then.
    Cycling,
}

/// How far into files a step reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The first chunk.
    Near,
    /// The first few chunks.
    Wide,
    /// A hundred chunks.
    Far,
}

/// A step: its sort, and numbers that pick what it works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    sort: Sort,
    draws: [u16; 8],
    work: Work,
    reach: Reach,
    /// Whether some of the files that it creates are released.
    releases: bool,
}

/// The names and nodes that a client knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    directories: Vec<FileId>,
    files: Vec<FileId>,
    symlinks: Vec<FileId>,
    /// Names of directories.
    places: Vec<Place>,
}

/// Where a directory hangs.
#[derive(Clone, Debug)]
struct Place {
    directory: FileId,
    name: Name,
}

impl Known {
    /// All nodes of a tree, by their place in it.
    pub fn of(tree: &Tree) -> Self {
        let mut known = Self::default();
        let mut nodes: Vec<NodeId> = vec![Tree::ROOT];
        let mut at = 0;
        while let Some(&node) = nodes.get(at) {
            at += 1;
            let Some(node) = tree.node(node) else {
                continue;
            };
            if let Some(id) = node.id {
                known.learn(id, node.kind());
                known.places.extend(subdirectories(tree, id, node));
            }
            nodes.extend(
                node.entries()
                    .into_iter()
                    .flat_map(|entries| entries.values()),
            );
        }
        let open = tree
            .nodes
            .values()
            .filter(|node| node.file().is_some_and(|file| file.links == 0));
        known
            .files
            .extend(open.filter_map(|node: &std::rc::Rc<Node>| node.id));
        known
    }

    /// Takes note of a node.
    pub fn learn(&mut self, id: FileId, kind: Kind) {
        let list = match kind {
            Kind::Directory => &mut self.directories,
            Kind::File => &mut self.files,
            Kind::Symlink => &mut self.symlinks,
            _ => return,
        };
        if !list.contains(&id) {
            list.push(id);
        }
    }
}

/// The places of the directories within a directory.
fn subdirectories(tree: &Tree, directory: FileId, node: &Node) -> Vec<Place> {
    let entries = node.entries().into_iter().flatten();
    let is_directory = |id: &NodeId| tree.node(*id).and_then(Node::entries).is_some();
    let directories = entries.filter(|(_, id)| is_directory(id));
    let place = |(name, _): (&Name, &NodeId)| Place {
        directory,
        name: name.clone(),
    };
    directories.map(place).collect()
}

impl Work {
    const fn weights(self) -> &'static [(Sort, u64)] {
        match self {
            Self::Names => WEIGHTS,
            Self::Data => DATA_WEIGHTS,
            Self::Reading => READING_WEIGHTS,
            Self::Sharing => SHARING_WEIGHTS,
            Self::Cutting => CUTTING_WEIGHTS,
            Self::Moving => MOVING_WEIGHTS,
            Self::Planting => PLANTING_WEIGHTS,
            Self::Appending => APPENDING_WEIGHTS,
            Self::Cycling => CYCLING_WEIGHTS,
        }
    }
}

impl Step {
    /// A step for a client that is `alone` or not.
    pub fn draw(random: &mut Random, alone: bool, work: Work, reach: Reach) -> Self {
        let weights = work.weights();
        let sorts = weights.iter().filter(|(sort, _)| match sort {
            Sort::SeekOrCopy => alone,
            _ => true,
        });
        let total = sorts.clone().map(|(_, weight)| weight).sum();
        let mut left = random.below(total);
        let mut chosen = Sort::Lookup;
        for &(sort, weight) in sorts {
            if left < weight {
                chosen = sort;
                break;
            }
            left -= weight;
        }
        Self {
            sort: chosen,
            draws: std::array::from_fn(|_| random.next() as u16),
            work,
            reach,
            releases: false,
        }
    }

    /// From now on, some of the files that it creates are released.
    pub const fn release(&mut self) {
        self.releases = true;
    }

    /// The same step on the file of this number among those that the client knows.
    pub const fn on_file(mut self, file: u16) -> Self {
        self.draws[2] = file;
        self
    }

    /// How long the client does nothing before this step, at most `most`.
    pub fn idle(&self, most: Duration) -> Duration {
        let share = u64::from(self.draws[1] ^ self.draws[5]);
        Duration(most.0 / u64::from(u16::MAX) * share)
    }

    fn draw_from<T: Copy>(&self, draw: usize, choices: &[T]) -> Option<T> {
        let len = choices.len().max(1);
        choices.get(usize::from(self.draws[draw]) % len).copied()
    }

    /// A directory: often the root, if not directories are what it is about.
    fn directory(&self, draw: usize, known: &Known) -> FileId {
        let is_about_files = !matches!(self.work, Work::Moving | Work::Planting);
        if is_about_files && self.draws[draw] % 10 < 3 {
            return FileId::ROOT;
        }
        self.draw_from(draw, &known.directories)
            .unwrap_or(FileId::ROOT)
    }

    /// A name: mostly one of a few.
    fn name(&self, draw: usize) -> Name {
        let number = self.draws[draw];
        let number = if number % 10 < 7 {
            number / 10 % 5
        } else {
            number / 10 % 16
        };
        letter(b'a' + number as u8)
    }

    fn flag(&self, bit: u32) -> bool {
        self.draws[7] & (1 << bit) != 0
    }

    fn tag(&self) -> u8 {
        (self.draws[6] % 250) as u8 + 1
    }

    fn offset(&self) -> u64 {
        let [a, b] = [self.draws[4], self.draws[5]].map(u64::from);
        match (a % 4, self.reach) {
            (_, Reach::Far) => b * 8,
            (0, Reach::Wide) => b % 3 * 4096,
            (1, Reach::Wide) => b % 9000,
            _ => b % 200,
        }
    }

    fn length(&self) -> u32 {
        let length = u32::from(self.draws[3]);
        let is_long = match self.reach {
            Reach::Near => false,
            Reach::Wide => length.is_multiple_of(5),
            Reach::Far => true,
        };
        1 + if is_long { length % 9000 } else { length % 200 }
    }

    /// The operation, given what the client knows; `None` if there is nothing to do it with.
    pub fn operation(&self, known: &Known) -> Option<Operation> {
        use Operation as O;
        let directory = self.directory(0, known);
        let name = self.name(1);
        let file = self.draw_from(2, &known.files);
        Some(match self.sort {
            Sort::Lookup => O::Lookup { directory, name },
            Sort::Create => self.create(directory, name),
            Sort::CreateUnnamed => O::CreateUnnamed {
                directory,
                mode: 0o600,
            },
            Sort::MakeDirectory => {
                let mode = if self.draws[7].is_multiple_of(32) {
                    0o2755
                } else {
                    0o755
                };
                O::MakeDirectory {
                    directory,
                    name,
                    mode,
                }
            }
            Sort::Unlink => O::Unlink { directory, name },
            Sort::RemoveDirectory => O::RemoveDirectory { directory, name },
            Sort::Rename | Sort::Exchange => self.rename(known),
            Sort::Link => O::Link {
                id: file?,
                directory,
                name,
            },
            Sort::Attributes => O::Attributes(if self.flag(0) { directory } else { file? }),
            Sort::SetAttributes => {
                self.set_attributes(if self.flag(0) { directory } else { file? })
            }
            Sort::ReadDirectory => O::ReadDirectory {
                directory,
                page: *[1, 3, 100, SEARCHED, TESTED].get(usize::from(self.draws[3] % 5))?,
            },
            Sort::Parent => O::Parent(directory),
            Sort::Xattr => self.xattr(if self.flag(0) { directory } else { file? }),
            Sort::SeekOrCopy => self.seek_or_copy(file?, known),
            _ => return self.file_operation(file?, known),
        })
    }

    /// The file that is opened for this, as programs do, or not, as the library allows.
    pub fn opened(&self, operation: &Operation) -> Option<FileId> {
        match operation {
            Operation::Write { id, .. }
            | Operation::Append { id, .. }
            | Operation::Allocate { id, .. }
            | Operation::CopyRange { target: id, .. }
                if matches!(self.work, Work::Appending | Work::Cycling)
                    || self.reach == Reach::Wide && self.flag(5) =>
            {
                Some(*id)
            }
            _ => None,
        }
    }

    fn file_operation(&self, id: FileId, known: &Known) -> Option<Operation> {
        use Operation as O;
        let (offset, length, tag) = (self.offset(), self.length(), self.tag());
        Some(match self.sort {
            Sort::Truncate => O::Truncate { id, size: offset },
            Sort::Open if self.draws[3].is_multiple_of(5) => {
                O::ReadLink(self.draw_from(3, &known.symlinks).unwrap_or(id))
            }
            Sort::Open => O::Open(id),
            Sort::Close => O::Close(id),
            Sort::Read => O::Read {
                id,
                offset,
                length: length * 2,
            },
            Sort::Write => O::Write {
                id,
                offset,
                length,
                tag,
            },
            Sort::Append => O::Append { id, length, tag },
            Sort::Allocate => {
                let keep_size = self.flag(2);
                let mode = match self.draws[7] % 3 {
                    0 => AllocateMode::Allocate { keep_size },
                    1 => AllocateMode::PunchHole,
                    _ => AllocateMode::ZeroRange { keep_size },
                };
                O::Allocate {
                    id,
                    mode,
                    offset,
                    length: u64::from(length),
                }
            }
            Sort::Lock => self.lock(id),
            _ => return None,
        })
    }

    /// Where directories are moved, the name is one of a directory that was there.
    fn rename(&self, known: &Known) -> Operation {
        let len = known.places.len();
        let place = |draw: usize| known.places.get(usize::from(self.draws[draw]) % len.max(1));
        let drawn = |draw: usize| Place {
            directory: self.directory(draw, known),
            name: self.name(draw + 1),
        };
        let (mut from, to) = (drawn(0), drawn(2));
        if let (Work::Moving, Some(place)) = (self.work, place(0)) {
            from = place.clone();
        }
        Operation::Rename {
            directory: from.directory,
            name: from.name,
            new_directory: to.directory,
            new_name: to.name,
            flags: RenameFlags {
                no_replace: self.sort == Sort::Rename && self.draws[7].is_multiple_of(4),
                exchange: self.sort == Sort::Exchange,
                whiteout: (self.sort == Sort::Rename && self.draws[7] % 8 == 1)
                    .then_some(Owner { uid: 0, gid: 0 }),
            },
        }
    }

    fn create(&self, directory: FileId, name: Name) -> Operation {
        let kind = match self.draws[2] % 10 {
            0 => NewKind::Symlink,
            1 => NewKind::Fifo,
            2 | 3 => NewKind::File(self.length().min(4096)),
            4..7 if self.releases => NewKind::Released(1 + u32::from(self.draws[3]) % RELEASED_MAX),
            _ => NewKind::File(0),
        };
        Operation::Create {
            directory,
            name,
            kind,
            mode: if self.flag(0) { 0o4755 } else { 0o644 },
            exclusive: self.flag(1),
            open: matches!(kind, NewKind::File(_) | NewKind::Released(_)) && self.draws[7] % 16 < 4,
            tag: self.tag(),
        }
    }

    fn set_attributes(&self, id: FileId) -> Operation {
        let number = u32::from(self.draws[3] % 4);
        if self.flag(1) {
            Operation::SetMode {
                id,
                mode: *[0o700, 0o755, 0o1777, 0o775]
                    .get(number as usize)
                    .unwrap_or(&0),
            }
        } else {
            Operation::SetOwner {
                id,
                uid: number + 1,
                gid: number + 7,
            }
        }
    }

    fn xattr(&self, id: FileId) -> Operation {
        use Operation as O;
        let name = if self.draws[3].is_multiple_of(2) {
            XattrName::new("user.x")
        } else {
            XattrName::new("user.y/z")
        };
        let name = name.unwrap_or(XattrName::least());
        match self.draws[4] % 6 {
            0 => O::GetXattr { id, name },
            1 => O::ListXattrs(id),
            2 => O::RemoveXattr { id, name },
            draw => O::SetXattr {
                id,
                name,
                mode: match draw {
                    3 => XattrMode::Create,
                    4 => XattrMode::Replace,
                    _ => XattrMode::Set,
                },
                tag: self.tag(),
            },
        }
    }

    fn lock(&self, id: FileId) -> Operation {
        let whole = self.draws[3].is_multiple_of(4);
        let from = u64::from(self.draws[4] % 20);
        let lock = LockRequest {
            space: if whole {
                LockSpace::Whole
            } else {
                LockSpace::Range
            },
            kind: match self.draws[5] % 5 {
                0 | 1 => None,
                2 => Some(LockKind::Shared),
                _ => Some(LockKind::Exclusive),
            },
            owner: u64::from(self.draws[6] % 2),
            from: if whole { 0 } else { from },
            to: if whole {
                u64::MAX
            } else {
                from + 1 + u64::from(self.draws[6] % 20)
            },
        };
        if self.draws[7].is_multiple_of(6) && lock.kind.is_some() {
            return Operation::TestLock { id, lock };
        }
        Operation::SetLock {
            id,
            lock,
            wait: self.flag(3) && lock.kind.is_some(),
        }
    }

    fn seek_or_copy(&self, id: FileId, known: &Known) -> Operation {
        use Operation as O;
        let offset = self.offset();
        match self.draws[7] % 3 {
            0 => O::SeekData { id, offset },
            1 => O::SeekHole { id, offset },
            _ => O::CopyRange {
                source: id,
                from: offset,
                target: self.draw_from(6, &known.files).unwrap_or(id),
                offset: u64::from(self.draws[1] % 9000),
                length: u64::from(self.draws[3] % 9000),
            },
        }
    }
}

/// A name of one letter.
fn letter(letter: u8) -> Name {
    Name::new(vec![letter]).unwrap_or(Name::least())
}
