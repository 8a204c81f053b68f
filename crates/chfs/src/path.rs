//! Paths as CHFS reads them: from the root, with `.` and `..` resolved as text.

use futago_posix::outcome::error;
use std::io;

/// The most names of a path.
const DEPTH_MAX: usize = 50;

/// A path with one `/` before each name, or `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChfsPath(Vec<u8>);

impl ChfsPath {
    /// The path of a string. If it is below `root`, that is cut off.
    ///
    /// # Errors
    /// `ENAMETOOLONG` for too many names.
    pub fn new(path: &[u8], root: &Self) -> io::Result<Self> {
        let mut names: Vec<&[u8]> = Vec::new();
        for name in path.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => drop(names.pop()),
                _ if names.len() == DEPTH_MAX => return Err(error(libc::ENAMETOOLONG)),
                _ => names.push(name),
            }
        }
        Ok(Self::joined(&names).below(root))
    }

    /// The root.
    pub fn root() -> Self {
        Self(b"/".to_vec())
    }

    pub fn is_root(&self) -> bool {
        self.0 == b"/"
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The directories above the path, from the top, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.0.iter().enumerate().skip(1);
        slashes
            .filter(|(_, byte)| **byte == b'/')
            .map(|(end, _)| &self.0[..end])
    }

    fn joined(names: &[&[u8]]) -> Self {
        match names {
            [] => Self::root(),
            names => Self(
                names
                    .iter()
                    .flat_map(|name| [b"/", *name].concat())
                    .collect(),
            ),
        }
    }

    fn below(self, root: &Self) -> Self {
        match self.0.strip_prefix(&root.0[..]) {
            Some(b"") => Self::root(),
            Some(rest) if rest.starts_with(b"/") => Self(rest.to_vec()),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, root: &str) -> String {
        let root = ChfsPath::new(root.as_bytes(), &ChfsPath::root()).expect("a root");
        let path = ChfsPath::new(path.as_bytes(), &root).expect("a path");
        String::from_utf8(path.0).expect("text")
    }

    #[test]
    fn slashes_and_dots_are_resolved_as_text() {
        for (path, expected) in [
            ("", "/"),
            ("a", "/a"),
            ("//a//b/", "/a/b"),
            ("./a/./b", "/a/b"),
            ("a/../b", "/b"),
            ("../..", "/"),
            ("a/..b/...", "/a/..b/..."),
        ] {
            assert_eq!(read(path, "/"), expected);
        }
    }

    #[test]
    fn the_directory_that_stands_for_the_root_is_cut_off() {
        for (path, expected) in [
            ("/tmp/chfs", "/"),
            ("/tmp/chfs/", "/"),
            ("/tmp/chfs/a/b", "/a/b"),
            ("/tmp/chfs2/a", "/tmp/chfs2/a"),
            ("/a", "/a"),
        ] {
            assert_eq!(read(path, "tmp//chfs"), expected);
        }
    }

    #[test]
    fn a_path_has_at_most_fifty_names() {
        let deep = |names: usize| ChfsPath::new("a/".repeat(names).as_bytes(), &ChfsPath::root());
        assert_eq!(deep(50).expect("a path").ancestors().count(), 49);
        let failed = deep(51).expect_err("too many names");
        assert_eq!(failed.raw_os_error(), Some(libc::ENAMETOOLONG));
    }

    #[test]
    fn the_ancestors_begin_at_the_top() {
        let path = ChfsPath::new(b"a/b/c", &ChfsPath::root()).expect("a path");
        assert_eq!(path.ancestors().collect::<Vec<_>>(), [&b"/a"[..], b"/a/b"]);
    }
}
