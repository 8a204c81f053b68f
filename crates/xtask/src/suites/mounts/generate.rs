//! Which operations are tried: drawn from the seed alone, with few names, so that they meet.

use fastrand::Rng;

use super::operation::{Lock, Operation, Replace, SLOTS};

/// One round: operations, each with the number of its agent. More than one happen at the same time.
pub type Round = Vec<(usize, Operation)>;

/// Mostly of files, though anything can get any name.
const FILES: [&str; 4] = ["a", "b", "c", "d"];
/// Mostly of directories.
const DIRECTORIES: [&str; 3] = ["x", "y", "z"];
const KIB: u64 = 1024;
/// Between two comparisons of the whole tree.
const ROUNDS_BETWEEN_TREES: u64 = 40;

/// Draws rounds.
pub struct Generator {
    random: Rng,
    agents: usize,
    alternate: bool,
    drawn: u64,
}

impl Generator {
    /// With `alternate`, every round is one operation.
    pub fn new(seed: u64, agents: usize, alternate: bool) -> Self {
        Self {
            random: Rng::with_seed(seed),
            agents,
            alternate,
            drawn: 0,
        }
    }

    /// The next round.
    pub fn round(&mut self) -> Round {
        self.drawn += 1;
        if self.drawn.is_multiple_of(ROUNDS_BETWEEN_TREES) {
            let agent = self.random.usize(..self.agents);
            return vec![(agent, Operation::Tree)];
        }
        let together = self.random.u8(..10) < 3 && !self.alternate;
        if !together {
            let agent = self.random.usize(..self.agents);
            return vec![(agent, self.operation())];
        }
        if self.random.u8(..4) == 0 {
            return self.appends();
        }
        (0..self.agents)
            .map(|agent| (agent, self.name_operation()))
            .collect()
    }

    /// Appends to one file: all must arrive, in some order.
    fn appends(&mut self) -> Round {
        let path = self.path();
        let append = |agent| {
            let length = self.random.usize(1..2000);
            (
                agent,
                Operation::Append {
                    path: path.clone(),
                    length,
                    fill: self.random.u8(1..),
                },
            )
        };
        (0..self.agents).map(append).collect()
    }

    fn operation(&mut self) -> Operation {
        match self.random.u8(..10) {
            0..3 => self.name_operation(),
            3..5 => self.data_operation(),
            5..7 => self.attribute_operation(),
            _ => self.slot_operation(),
        }
    }

    /// Operations of which each is atomic, so that they can be tried at the same time.
    fn name_operation(&mut self) -> Operation {
        let path = self.path();
        match self.random.u8(..20) {
            0..3 => Operation::Create {
                path,
                mode: self.mode(0o600),
            },
            3..6 => Operation::MakeDirectory {
                path: self.directory(),
                mode: self.mode(0o700),
            },
            6..8 => Operation::RemoveDirectory {
                path: self.directory(),
            },
            8..11 => Operation::Unlink { path },
            11..16 => Operation::Rename {
                from: self.either(),
                to: self.either(),
                how: self.replace(),
            },
            16..18 => Operation::Link {
                from: path,
                to: self.path(),
            },
            18 => Operation::Symlink {
                target: self.either(),
                path,
            },
            _ => Operation::ReadLink { path },
        }
    }

    fn data_operation(&mut self) -> Operation {
        let path = self.path();
        match self.random.u8(..12) {
            0..4 => Operation::Write {
                path,
                offset: self.offset(),
                length: self.length(),
                fill: self.random.u8(1..),
                create: self.random.bool(),
            },
            4..6 => Operation::Append {
                path,
                length: self.length(),
                fill: self.random.u8(1..),
            },
            6..9 => Operation::Read {
                path,
                offset: self.offset(),
                length: 4 << 20,
            },
            9 => Operation::MapRead { path },
            _ => Operation::Truncate {
                path,
                size: self.offset(),
            },
        }
    }

    fn attribute_operation(&mut self) -> Operation {
        let path = self.path();
        match self.random.u8(..7) {
            0 => Operation::ChangeMode {
                path,
                mode: self.mode(0o700),
            },
            1 => Operation::SetTimes {
                path,
                time_ns: self.random.i64(0..4_000_000_000_000_000_000),
            },
            2 => Operation::List {
                path: self.directory(),
            },
            3 => Operation::List {
                path: String::new(),
            },
            4 => Operation::Stat {
                path: self.directory(),
            },
            _ => Operation::Stat { path },
        }
    }

    fn slot_operation(&mut self) -> Operation {
        let slot = self.random.usize(..SLOTS);
        match self.random.u8(..16) {
            0..4 => Operation::Open {
                slot,
                path: self.path(),
            },
            4 => Operation::Close { slot },
            5..7 => Operation::WriteOpen {
                slot,
                offset: self.offset(),
                length: self.length(),
                fill: self.random.u8(1..),
            },
            7..9 => Operation::ReadOpen {
                slot,
                offset: self.offset(),
                length: 4 << 20,
            },
            9 => Operation::StatOpen { slot },
            10..14 => Operation::LockRange {
                slot,
                kind: self.lock(),
                start: self.random.u64(..20),
                length: self.random.u64(1..10),
            },
            _ => Operation::LockWhole {
                slot,
                kind: self.lock(),
            },
        }
    }

    /// A path whose last name is mostly a file's.
    fn path(&mut self) -> String {
        let mostly = if self.random.u8(..8) == 0 {
            &DIRECTORIES[..]
        } else {
            &FILES[..]
        };
        self.path_to(mostly)
    }

    /// A path whose last name is mostly a directory's.
    fn directory(&mut self) -> String {
        let mostly = if self.random.u8(..8) == 0 {
            &FILES[..]
        } else {
            &DIRECTORIES[..]
        };
        self.path_to(mostly)
    }

    fn either(&mut self) -> String {
        if self.random.bool() {
            self.path()
        } else {
            self.directory()
        }
    }

    fn path_to(&mut self, last: &[&str]) -> String {
        let above = [0, 0, 1, 1, 2][self.random.usize(..5)];
        let mut names: Vec<_> = (0..above).map(|_| self.one_of(&DIRECTORIES)).collect();
        names.push(self.one_of(last));
        names.join("/")
    }

    fn one_of<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.random.usize(..names.len())]
    }

    fn mode(&mut self, at_least: u32) -> u32 {
        at_least | self.random.u32(..0o100)
    }

    fn replace(&mut self) -> Replace {
        match self.random.u8(..6) {
            0 => Replace::Never,
            1 => Replace::Exchange,
            _ => Replace::Yes,
        }
    }

    fn lock(&mut self) -> Lock {
        [Lock::Shared, Lock::Exclusive, Lock::Unlock][self.random.usize(..3)]
    }

    /// Mostly within the first pages, sometimes in a chunk far behind.
    fn offset(&mut self) -> u64 {
        match self.random.u8(..20) {
            0 => 0,
            1 => self.random.u64(..3 * KIB * KIB),
            _ => self.random.u64(..16 * KIB),
        }
    }

    fn length(&mut self) -> usize {
        match self.random.u8(..10) {
            0 => 0,
            1 => self.random.usize(..300 << 10),
            _ => self.random.usize(1..10_000),
        }
    }
}
