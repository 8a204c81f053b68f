//! The positions of listings.
//!
//! The position after a name is its hash, which holds for ever and on every server. Names of one
//! hash share a position; where a listing stops between them, the directory's [`Cookies`] remember
//! the name.

use alloc::vec::Vec;
use futago_base::{Errno, Name, NameHash};
use futago_wire::ListedEntry;

/// The cookie after `.`.
pub const AFTER_SELF: u64 = 1;
/// The cookie after `..`.
pub const AFTER_PARENT: u64 = 2;
/// The cookie after the last name, which is no name's hash. It is always the same, so that a kernel
/// which has filled pages up to there finds it again (`fuse_readdir_cache_end` in
/// fs/fuse/readdir.c).
const AFTER_LAST: u64 = i64::MAX as u64;
/// The first cookie between names of one hash; they go up to [`NameHash::FIRST`].
const FIRST_CUT: u64 = 3;

/// Where to continue: with names whose hash is larger than `after`, but not with those up to
/// `past`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The hash to continue after.
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

impl Position {
    /// Whether a name was listed before this position.
    fn is_past(&self, hash: NameHash, name: &Name) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.hash == hash && name <= &past.name)
    }
}

/// The cookies between names of one hash that were given out for one directory.
#[derive(Debug, Default)]
pub struct Cookies(Vec<Cut>);

impl Cookies {
    /// Whether no cookies are remembered.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The position that a cookie stands for; 0 is the start.
    ///
    /// # Errors
    /// `EINVAL` for a cookie that was never given.
    pub fn position(&self, cookie: u64) -> Result<Position, Errno> {
        let (after, past) = match cookie {
            0..=AFTER_PARENT => (NameHash(0), None),
            FIRST_CUT..NameHash::FIRST => {
                let cut = self.cut(cookie - FIRST_CUT).ok_or(Errno::EINVAL)?;
                (NameHash(cut.hash.0 - 1), Some(cut))
            }
            hash => (NameHash(hash), None),
        };
        Ok(Position { after, past })
    }

    fn cut(&self, index: u64) -> Option<Cut> {
        self.0.get(usize::try_from(index).ok()?).cloned()
    }

    /// The cookie to continue after a name. `next` is the hash of the name that follows it.
    ///
    /// # Errors
    /// `ENOSPC` when more names of one hash were listed than there are cookies.
    fn cookie(
        &mut self,
        hash: NameHash,
        name: &Name,
        next: Option<NameHash>,
    ) -> Result<u64, Errno> {
        if next != Some(hash) {
            return Ok(hash.0);
        }
        let name = name.clone();
        let cut = Cut { hash, name };
        let known = self.0.iter().position(|old| *old == cut);
        let index = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(cut);
        }
        let cookie = FIRST_CUT + index as u64;
        (cookie < NameHash::FIRST)
            .then_some(cookie)
            .ok_or(Errno::ENOSPC)
    }
}

/// Entries of a directory in the order of their hashes, as
/// [`Client::read_directory`](futago_client::Client::read_directory) returns them.
#[derive(Debug)]
pub struct Page {
    position: Position,
    entries: Vec<ListedEntry>,
    has_last: bool,
}

impl Page {
    /// The entries behind a position, of which at most `entries_max` were requested.
    pub const fn new(position: Position, entries: Vec<ListedEntry>, entries_max: u32) -> Self {
        let has_last = entries.len() < entries_max as usize;
        Self {
            position,
            entries,
            has_last,
        }
    }

    /// Whether the position is at the end of the directory.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Passes the entries on, each with the cookie to continue after it, until `push` refuses one.
    ///
    /// # Errors
    /// `ENOSPC` when more names of one hash were listed than there are cookies.
    pub fn pass_on(
        &self,
        cookies: &mut Cookies,
        mut push: impl FnMut(&ListedEntry, u64) -> bool,
    ) -> Result<(), Errno> {
        let hashes = self.entries.iter().map(|listed| listed.name.hash());
        let mut entries = hashes.zip(&self.entries).peekable();
        while let Some((hash, listed)) = entries.next() {
            if self.position.is_past(hash, &listed.name) {
                continue;
            }
            let next = entries.peek().map(|(hash, _)| *hash);
            let cookie = match next {
                None if self.has_last => AFTER_LAST,
                _ => cookies.cookie(hash, &listed.name, next)?,
            };
            if !push(listed, cookie) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{FileId, Kind, record::Entry};

    const HASH: NameHash = NameHash(NameHash::FIRST + 77);
    const NEXT: NameHash = NameHash(HASH.0 + 1);

    fn name(text: &'static str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    /// Lists the way a kernel does that stops after every name.
    fn list_one_by_one(names: &[(NameHash, Name)]) -> Vec<Name> {
        let (mut cookies, mut cookie, mut listed) = (Cookies::default(), 0, Vec::new());
        loop {
            let position = cookies.position(cookie).expect("a position");
            let is_left = |(hash, name): &&(NameHash, Name)| {
                *hash > position.after && !position.is_past(*hash, name)
            };
            let left: Vec<_> = names.iter().filter(is_left).collect();
            let Some((hash, first)) = left.first() else {
                return listed;
            };
            let next = left.get(1).map(|(hash, _)| *hash);
            cookie = cookies.cookie(*hash, first, next).expect("a cookie");
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
        let mut cookies = Cookies::default();
        let cookie = cookies.cookie(HASH, &name("b"), Some(HASH));
        let position = cookies.position(cookie.expect("a cookie"));
        let position = position.expect("a position");
        assert!(position.after < HASH);
        assert!(position.is_past(HASH, &name("b")));
        assert!(!position.is_past(HASH, &name("c")));
        assert!(!position.is_past(NEXT, &name("b")));
    }

    #[test]
    fn the_last_name_of_a_hash_has_its_hash_for_a_cookie() {
        let mut cookies = Cookies::default();
        assert_eq!(cookies.cookie(HASH, &name("b"), Some(NEXT)), Ok(HASH.0));
        assert_eq!(cookies.cookie(HASH, &name("b"), None), Ok(HASH.0));
        assert!(cookies.is_empty());
        let position = cookies.position(HASH.0).expect("a position");
        assert!(position.after == HASH && !position.is_past(HASH, &name("b")));
    }

    #[test]
    fn a_cookie_that_was_never_given_is_refused() {
        let mut cookies = Cookies::default();
        let cookie = cookies.cookie(HASH, &name("b"), Some(HASH));
        let cookie = cookie.expect("a cookie");
        assert!(cookies.position(cookie).is_ok());
        assert_eq!(cookies.position(cookie + 1), Err(Errno::EINVAL));
        assert_eq!(Cookies::default().position(cookie), Err(Errno::EINVAL));
    }

    fn page(texts: &[&'static str], entries_max: u32) -> Page {
        let listed = |text: &&'static str| ListedEntry {
            name: name(text),
            entry: Entry {
                id: FileId(7),
                kind: Kind::File,
            },
            attributes: None,
        };
        let mut entries: Vec<_> = texts.iter().map(listed).collect();
        entries.sort_by_key(|listed| listed.name.hash());
        let start = Cookies::default().position(0).expect("the start");
        Page::new(start, entries, entries_max)
    }

    fn cookies_of(page: &Page, room: usize) -> Vec<u64> {
        let mut all = Vec::new();
        let push = |_: &ListedEntry, cookie| {
            let fits = all.len() < room;
            all.extend(fits.then_some(cookie));
            fits
        };
        page.pass_on(&mut Cookies::default(), push).expect("passed");
        all
    }

    #[test]
    fn the_last_entry_of_a_directory_has_a_cookie_of_its_own() {
        let whole = cookies_of(&page(&["a", "b"], 3), 9);
        assert_eq!((whole.len(), whole[1]), (2, AFTER_LAST));
        let full = cookies_of(&page(&["a", "b"], 2), 9);
        assert_ne!(full[1], AFTER_LAST, "others may follow");
        assert_eq!(cookies_of(&page(&["a", "b"], 3), 1), whole[..1]);
    }
}
