//! Absolute paths of a tree, which may hold any bytes.

use serde::{Deserialize, Serialize};
use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fmt::{self, Write as _},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    str::FromStr,
};

/// A path from the root of a tree. A leading `/` may be left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    fn new(bytes: Vec<u8>) -> Self {
        if bytes.starts_with(b"/") {
            return Self(bytes);
        }
        Self([b"/", &bytes[..]].concat())
    }

    /// The root.
    pub fn root() -> Self {
        Self(b"/".to_vec())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path in the local file system.
    pub fn local(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// A name below this directory.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let separator: &[u8] = if self.0.ends_with(b"/") { b"" } else { b"/" };
        Self([&self.0, separator, name].concat())
    }

    /// Whether it ends as only a directory's path does.
    pub fn is_directory_name(&self) -> bool {
        self.0.ends_with(b"/")
    }

    /// The last name, unless this is the root.
    pub fn last_name(&self) -> Option<&[u8]> {
        let mut names = self.0.rsplit(|&byte| byte == b'/');
        names.find(|name| !name.is_empty())
    }

    /// The directory of the last name, unless this is the root.
    pub fn parent(&self) -> Option<Self> {
        let name = self.last_name()?;
        let end = self.0.iter().rposition(|&byte| byte != b'/')? + 1;
        Some(Self::new(self.0[..end - name.len()].to_vec()))
    }
}

/// Any bytes make a path.
impl From<OsString> for TreePath {
    fn from(text: OsString) -> Self {
        Self::new(text.into_vec())
    }
}

impl From<&Path> for TreePath {
    fn from(path: &Path) -> Self {
        Self::from(path.as_os_str().to_owned())
    }
}

impl FromStr for TreePath {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text.as_bytes().to_vec()))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

/// A file name as text without loss: UTF-8 stays, a backslash is doubled, control characters and
/// bytes that are no UTF-8 become `\xNN`.
pub fn escape(name: &[u8]) -> String {
    let mut text = String::new();
    for piece in name.utf8_chunks() {
        for character in piece.valid().chars() {
            // Writing to a string does not fail.
            let _ = match character {
                '\\' => text.write_str("\\\\"),
                c if c.is_ascii_control() => write!(text, "\\x{:02x}", c as u32),
                c => text.write_char(c),
            };
        }
        for byte in piece.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_root_and_keep_their_bytes() {
        let path = TreePath::from(OsString::from_vec(b"a/\xff".to_vec()));
        assert_eq!(path.bytes(), b"/a/\xff");
        assert_eq!(path.last_name(), Some(&b"\xff"[..]));
        assert_eq!(path.to_string(), "/a/\\xff");
        assert_eq!(path.join(b"b").bytes(), b"/a/\xff/b");
        assert_eq!(path.parent().unwrap().bytes(), b"/a/");
        let root = TreePath::from(OsString::from("/"));
        assert_eq!(root.last_name(), None);
        assert_eq!(root.parent(), None);
        assert_eq!(root.join(b"b").bytes(), b"/b");
        assert_eq!(root.join(b"b/").parent(), Some(root));
    }

    #[test]
    fn names_are_escaped_without_loss() {
        assert_eq!(escape("双子 a".as_bytes()), "双子 a");
        assert_eq!(escape(b"a\\b"), "a\\\\b");
        assert_eq!(escape(b"a\xff\xfeb\n"), "a\\xff\\xfeb\\x0a");
    }
}
