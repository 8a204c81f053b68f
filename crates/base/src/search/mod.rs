//! The tests of a search, with the meaning that they have for GNU find.

mod glob;

pub use glob::{Case, matches};

use crate::{Attributes, Kind, Timestamp};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A comparison with a number, as GNU find writes `-N`, `N` and `+N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// Less than the number.
    Less(u64),
    /// The number itself.
    Equal(u64),
    /// More than the number.
    More(u64),
}

impl Comparison {
    /// Whether a number passes.
    pub const fn holds(self, number: u64) -> bool {
        match self {
            Self::Less(than) => number < than,
            Self::Equal(to) => number == to,
            Self::More(than) => number > than,
        }
    }
}

/// Some kinds of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds(u8);

impl Kinds {
    /// These kinds and another one.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether a kind is among them.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}

/// One test of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    /// The name matches a glob.
    Name {
        /// The glob.
        glob: Bytes,
        /// Whether the case of letters counts.
        case: Case,
    },
    /// The node is of one of these kinds.
    Kind(Kinds),
    /// The size, in units and rounded up, compares so.
    Size {
        /// Bytes per unit; 0 counts as 1.
        unit_bytes: u64,
        /// The number of units.
        units: Comparison,
    },
    /// The last modification is later than this time.
    ModifiedAfter(Timestamp),
    /// The last modification is earlier than this time.
    ModifiedBefore(Timestamp),
    /// The file belongs to this user.
    Owner(u32),
}

impl Test {
    /// Whether the test needs attributes, and not only a name and a kind.
    const fn needs_attributes(&self) -> bool {
        !matches!(self, Self::Name { .. } | Self::Kind(_))
    }

    /// Whether an entry passes, as far as it decides.
    fn admits_entry(&self, name: &[u8], kind: Kind) -> bool {
        match self {
            Self::Name { glob, case } => matches(glob, name, *case),
            Self::Kind(kinds) => kinds.has(kind),
            _ => true,
        }
    }

    /// Whether attributes pass, as far as they decide.
    fn admits_attributes(&self, of: &Attributes) -> bool {
        match self {
            Self::Size { unit_bytes, units } => units.holds(of.size.div_ceil((*unit_bytes).max(1))),
            Self::ModifiedAfter(time) => of.modified > *time,
            Self::ModifiedBefore(time) => of.modified < *time,
            Self::Owner(uid) => of.uid == *uid,
            Self::Name { .. } | Self::Kind(_) => true,
        }
    }
}

/// The tests of a search; a file matches if it passes all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests(pub Vec<Test>);

impl Tests {
    /// Whether any test needs attributes.
    pub fn need_attributes(&self) -> bool {
        self.0.iter().any(Test::needs_attributes)
    }

    /// Whether a name and a kind pass all tests that need nothing else.
    pub fn admit_entry(&self, name: &[u8], kind: Kind) -> bool {
        self.0.iter().all(|test| test.admits_entry(name, kind))
    }

    /// Whether attributes pass all tests that need them.
    pub fn admit_attributes(&self, of: &Attributes) -> bool {
        self.0.iter().all(|test| test.admits_attributes(of))
    }

    /// Whether a file matches.
    pub fn admit(&self, name: &[u8], of: &Attributes) -> bool {
        self.admit_entry(name, of.kind) && self.admit_attributes(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_units() {
        let of = |size| size_in(1 << 20, size);
        assert_eq!((of(0), of(1), of(1 << 20)), (0, 1, 1));
        assert_eq!(of((1 << 20) + 1), 2);
        assert_eq!(size_in(0, 7), 7, "no unit is a byte");
    }

    /// The only number of units that equals a size.
    fn size_in(unit_bytes: u64, size: u64) -> u64 {
        let is = |units| {
            let units = Comparison::Equal(units);
            let test = Test::Size { unit_bytes, units };
            test.admits_attributes(&attributes(size))
        };
        let found: Vec<u64> = (0..10).filter(|&units| is(units)).collect();
        assert_eq!(found.len(), 1);
        found[0]
    }

    fn attributes(size: u64) -> Attributes {
        let time = Timestamp::default();
        Attributes {
            id: crate::FileId(9),
            kind: Kind::File,
            mode: 0o644,
            uid: 7,
            gid: 0,
            links: 1,
            size,
            device: 0,
            accessed: time,
            modified: time,
            changed: time,
            born: time,
            chunk_bytes: 4096,
            allocated_bytes: None,
        }
    }

    #[test]
    fn a_file_must_pass_all_tests() {
        let size = Test::Size {
            unit_bytes: 1,
            units: Comparison::More(4),
        };
        let kind = Test::Kind(Kinds::default().with(Kind::File).with(Kind::Fifo));
        let tests = Tests(Vec::from([kind, Test::Owner(7), size]));
        assert!(tests.need_attributes());
        assert!(tests.admit(b"a", &attributes(5)));
        assert!(!tests.admit(b"a", &attributes(4)));
        assert!(tests.admit_entry(b"a", Kind::Fifo));
        assert!(!tests.admit_entry(b"a", Kind::Directory));
    }

    #[test]
    fn times_compare_strictly() {
        let at = |seconds| Timestamp { seconds, nanos: 0 };
        let of = attributes(0);
        assert!(Test::ModifiedAfter(at(-1)).admits_attributes(&of));
        assert!(!Test::ModifiedAfter(at(0)).admits_attributes(&of));
        assert!(!Test::ModifiedBefore(at(0)).admits_attributes(&of));
        assert!(Test::ModifiedBefore(at(1)).admits_attributes(&of));
    }
}
