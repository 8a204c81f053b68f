//! Where a listing goes on.
//!
//! The place after a name is its hash, which holds for ever and on every server. Names of one hash
//! have one place; where the kernel stops between them, the name is remembered for as long as the
//! kernel knows the directory.

use crate::interruption::locked;
use futago_base::{Errno, FileId, Name, NameHash};
use std::collections::HashMap;
use std::sync::Mutex;

/// The place after `.`.
pub const AFTER_SELF: u64 = 1;
/// The place after `..`.
pub const AFTER_PARENT: u64 = 2;
/// The place after the last name, which is no name's hash. It is always the same, so that a kernel
/// which has filled pages up to there finds it again (`fuse_readdir_cache_end` in
/// fs/fuse/readdir.c).
pub const AFTER_LAST: u64 = i64::MAX as u64;
/// The first place between names of one hash; they go up to [`NameHash::FIRST`].
const FIRST_CUT: u64 = 3;

/// Where to go on: with names whose hash is larger than `after`, but not with those up to `past`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The hash to go on after.
    pub after: NameHash,
    /// A name of the next hash that was listed already, as were the ones before it.
    past: Option<Cut>,
}

/// A name that is not the last of its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cut {
    hash: NameHash,
    name: Name,
}

impl Place {
    /// Whether a name was listed before this place.
    pub fn is_past(&self, hash: NameHash, name: &Name) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.hash == hash && name <= &past.name)
    }
}

/// Places between names of one hash, by directory.
#[derive(Debug, Default)]
pub struct Cuts(Mutex<HashMap<FileId, Vec<Cut>>>);

impl Cuts {
    /// The place that a cookie stands for. Errors: `EINVAL` for one that was never given.
    pub fn place(&self, directory: FileId, cookie: u64) -> Result<Place, Errno> {
        let (after, past) = match cookie {
            0..=AFTER_PARENT => (NameHash(0), None),
            FIRST_CUT..NameHash::FIRST => {
                let cut = self
                    .cut(directory, cookie - FIRST_CUT)
                    .ok_or(Errno::EINVAL)?;
                (NameHash(cut.hash.0 - 1), Some(cut))
            }
            hash => (NameHash(hash), None),
        };
        Ok(Place { after, past })
    }

    fn cut(&self, directory: FileId, index: u64) -> Option<Cut> {
        let index = usize::try_from(index).ok()?;
        locked(&self.0).get(&directory)?.get(index).cloned()
    }

    /// The cookie for going on after a name. `next` is the hash of the name that follows it.
    /// Errors: `ENOSPC` when more names of one hash were listed than there are cookies.
    pub fn cookie(
        &self,
        directory: FileId,
        hash: NameHash,
        name: &Name,
        next: Option<NameHash>,
    ) -> Result<u64, Errno> {
        if next != Some(hash) {
            return Ok(hash.0);
        }
        let name = name.clone();
        let cut = Cut { hash, name };
        let mut directories = locked(&self.0);
        let cuts = directories.entry(directory).or_default();
        let index = cuts.iter().position(|old| *old == cut).unwrap_or_else(|| {
            cuts.push(cut);
            cuts.len() - 1
        });
        let cookie = FIRST_CUT + index as u64;
        (cookie < NameHash::FIRST)
            .then_some(cookie)
            .ok_or(Errno::ENOSPC)
    }

    /// Forgets a directory.
    pub fn forget(&self, directory: FileId) {
        locked(&self.0).remove(&directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: FileId = FileId(4);
    const HASH: NameHash = NameHash(NameHash::FIRST + 77);
    const NEXT: NameHash = NameHash(HASH.0 + 1);

    fn name(text: &'static str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    /// Lists the way the kernel does that stops after every name.
    fn list_one_by_one(names: &[(NameHash, Name)]) -> Vec<Name> {
        let (cuts, mut cookie, mut listed) = (Cuts::default(), 0, Vec::new());
        loop {
            let place = cuts.place(DIRECTORY, cookie).expect("a place");
            let is_left = |(hash, name): &&(NameHash, Name)| {
                *hash > place.after && !place.is_past(*hash, name)
            };
            let left: Vec<_> = names.iter().filter(is_left).collect();
            let Some((hash, first)) = left.first() else {
                return listed;
            };
            let next = left.get(1).map(|(hash, _)| *hash);
            cookie = cuts
                .cookie(DIRECTORY, *hash, first, next)
                .expect("a cookie");
            listed.push(first.clone());
        }
    }

    #[test]
    fn names_of_one_hash_are_listed_once_each() {
        let names = [
            (NameHash(NameHash::FIRST), name("a")),
            (HASH, name("b")),
            (HASH, name("c")),
            (HASH, name("d")),
            (NEXT, name("e")),
        ];
        let listed = list_one_by_one(&names);
        assert_eq!(listed, names.map(|(_, name)| name));
    }

    #[test]
    fn a_name_that_vanishes_takes_no_other_with_it() {
        let cuts = Cuts::default();
        let cookie = cuts.cookie(DIRECTORY, HASH, &name("b"), Some(HASH));
        let place = cuts
            .place(DIRECTORY, cookie.expect("a cookie"))
            .expect("a place");
        assert!(place.after < HASH);
        assert!(place.is_past(HASH, &name("b")));
        assert!(!place.is_past(HASH, &name("c")));
        assert!(!place.is_past(NEXT, &name("b")));
    }

    #[test]
    fn the_last_name_of_a_hash_has_its_hash_for_a_place() {
        let cuts = Cuts::default();
        assert_eq!(
            cuts.cookie(DIRECTORY, HASH, &name("b"), Some(NEXT)),
            Ok(HASH.0)
        );
        assert_eq!(cuts.cookie(DIRECTORY, HASH, &name("b"), None), Ok(HASH.0));
        let place = cuts.place(DIRECTORY, HASH.0).expect("a place");
        assert_eq!(
            (place.after, place.is_past(HASH, &name("b"))),
            (HASH, false)
        );
    }

    #[test]
    fn places_end_with_their_directory() {
        let cuts = Cuts::default();
        let cookie = cuts
            .cookie(DIRECTORY, HASH, &name("b"), Some(HASH))
            .expect("a cookie");
        cuts.forget(DIRECTORY);
        assert_eq!(cuts.place(DIRECTORY, cookie), Err(Errno::EINVAL));
    }
}
