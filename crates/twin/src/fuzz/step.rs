//! A step of a client: an operation on whatever the client knows when it comes to it.

use super::work::{Sort, Work};
use crate::model::{LockRequest, NewKind, Node, NodeId, Operation, Tree};
use crate::random::Random;
use futago_base::{
    Duration, FileId, Kind, Name, XattrName,
    record::{LockKind, LockSpace},
};
use futago_client::{AllocateMode, Owner, RenameFlags, XattrMode};

/// The pages of a listing that is a search of names, and of one that also tests attributes.
pub const SEARCHED: u32 = 0;
pub const TESTED: u32 = u32::MAX;

/// The most bytes of a released file: some chunks.
const RELEASED_MAX: u32 = 20_000;

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

impl Step {
    /// A step for a client that is `alone` or not.
    pub fn draw(random: &mut Random, alone: bool, work: Work, reach: Reach) -> Self {
        let sort = work.draw(random, alone);
        Self {
            sort,
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
        let is_about_files = !matches!(self.work, Work::Moving | Work::Planting | Work::Contending);
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
            Sort::RemoveDirectory => {
                let Place { directory, name } = self.removed(directory, name, known);
                O::RemoveDirectory { directory, name }
            }
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

    /// Where clients contend for directories, the name is one of a directory that was there.
    fn removed(&self, directory: FileId, name: Name, known: &Known) -> Place {
        let drawn = Place { directory, name };
        match self.work {
            Work::Contending => {
                let len = known.places.len().max(1);
                let place = known.places.get(usize::from(self.draws[2]) % len);
                place.cloned().unwrap_or(drawn)
            }
            _ => drawn,
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
