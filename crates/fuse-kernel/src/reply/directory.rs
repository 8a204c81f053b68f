//! Listings of directories, within the requested size.

use crate::Entry;
use crate::abi::output::Dirent;
use zerocopy::IntoBytes;

/// Less than the smallest record.
const FRAGMENT_BYTES: usize = 8;
const _: () = assert!(FRAGMENT_BYTES < size_of::<Dirent>());

/// Names of a directory, for `Reply::directory`.
#[derive(Debug)]
pub struct DirectoryList {
    bytes: Vec<u8>,
    limit_bytes: usize,
}

impl DirectoryList {
    /// An empty list of at most `size` bytes, the size in the request.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self {
            bytes: Vec::new(),
            limit_bytes: size as usize,
        }
    }

    /// Adds a name to the reply to ReadDirectory. Returns `false` and adds nothing if the list is
    /// full.
    ///
    /// A later listing continues after this name at `next_cookie`; `mode` gives its type.
    #[must_use = "a name that did not fit must come with the next answer"]
    pub fn push(&mut self, inode: u64, next_cookie: u64, mode: u32, name: &[u8]) -> bool {
        self.append(&[], inode, next_cookie, mode, name)
    }

    /// As `push` for ReadDirectoryPlus. Each entry with a node other than 0 counts as a lookup;
    /// "." and ".." must have node 0.
    #[must_use = "a name that did not fit must come with the next answer"]
    pub fn push_plus(&mut self, entry: &Entry, next_cookie: u64, name: &[u8]) -> bool {
        let Entry { attributes, .. } = entry;
        let plus = entry.to_abi();
        self.append(
            plus.as_bytes(),
            attributes.inode,
            next_cookie,
            attributes.mode,
            name,
        )
    }

    /// Adds the beginning of a record, which the kernel skips.
    ///
    /// A reply of only this fragment signals the end of the directory, but the kernel does not
    /// regard its cached listing as complete, as it does after an empty list
    /// (`fuse_readdir_uncached` in fs/fuse/readdir.c).
    pub fn push_fragment(&mut self) {
        self.bytes.extend([0; FRAGMENT_BYTES]);
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn append(&mut self, plus: &[u8], ino: u64, off: u64, mode: u32, name: &[u8]) -> bool {
        let Ok(namelen) = u32::try_from(name.len()) else {
            return false;
        };
        let record = plus.len() + size_of::<Dirent>() + name.len().next_multiple_of(8);
        if self.bytes.len() + record > self.limit_bytes {
            return false;
        }
        let kind = (mode & libc::S_IFMT) >> 12;
        self.bytes.extend_from_slice(plus);
        self.bytes.extend_from_slice(
            Dirent {
                ino,
                off,
                namelen,
                kind,
            }
            .as_bytes(),
        );
        self.bytes.extend_from_slice(name);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_padded_and_the_limit_holds() {
        let mut list = DirectoryList::new(24 + 8 + 24 + 15);
        assert!(list.push(3, 1, libc::S_IFDIR, b"a\xff"));
        assert_eq!(list.as_bytes().len(), 32);
        assert_eq!(list.as_bytes()[20], libc::DT_DIR);
        assert_eq!(&list.as_bytes()[24..], b"a\xff\0\0\0\0\0\0");
        assert!(!list.push(4, 2, libc::S_IFREG, b"ninebytes"));
        assert!(list.push(4, 2, libc::S_IFREG, b"8 bytes."));
        assert_eq!(list.as_bytes().len(), 64);
    }

    #[test]
    fn an_entry_goes_before_its_name() {
        let mut list = DirectoryList::new(4096);
        assert!(list.push_plus(
            &Entry {
                node: 77,
                ..Entry::default()
            },
            1,
            b"x"
        ));
        assert_eq!(list.as_bytes().len(), 128 + 24 + 8);
        assert_eq!(list.as_bytes()[0], 77);
    }
}
