//! Paths within a cluster.

use crate::output;
use std::{convert::Infallible, ffi::OsString, fmt, os::unix::ffi::OsStringExt};

/// A path from the cluster's root; any bytes. A leading `/` may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePath(Vec<u8>);

impl RemotePath {
    fn new(bytes: Vec<u8>) -> Self {
        if bytes.starts_with(b"/") {
            return Self(bytes);
        }
        Self([b"/", &bytes[..]].concat())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A name below this directory.
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
        self.0
            .rsplit(|&byte| byte == b'/')
            .find(|name| !name.is_empty())
    }
}

/// Any bytes make a path.
impl From<OsString> for RemotePath {
    fn from(text: OsString) -> Self {
        Self::new(text.into_vec())
    }
}

impl std::str::FromStr for RemotePath {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text.as_bytes().to_vec()))
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&output::escape(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_root_and_keep_their_bytes() {
        let path = RemotePath::from(OsString::from_vec(b"a/\xff".to_vec()));
        assert_eq!(path.bytes(), b"/a/\xff");
        assert_eq!(path.last_name(), Some(&b"\xff"[..]));
        assert_eq!(path.to_string(), "/a/\\xff");
        assert_eq!(path.join(b"b").bytes(), b"/a/\xff/b");
        let root = RemotePath::from(OsString::from("/"));
        assert_eq!(root.last_name(), None);
        assert_eq!(root.join(b"b").bytes(), b"/b");
    }
}
