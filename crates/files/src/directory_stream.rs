//! Directories that are listed entry by entry, as `readdir` does.

use crate::{
    Operations,
    listing::{AFTER_PARENT, AFTER_SELF, Cookies, Page},
};
use alloc::collections::VecDeque;
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind};
use futago_wire::ListedEntry;

/// The number of entries of one request.
const PAGE_ENTRIES: u32 = 1024;

/// The position of a listing, and the entries that are listed already.
///
/// A position is a number as `telldir` returns it. It holds for as long as the stream does, also
/// while entries come and go: an entry that exists all the time is listed exactly once.
#[derive(Debug)]
pub struct DirectoryStream {
    directory: FileId,
    cookies: Cookies,
    /// Where the entries after the listed ones begin.
    next: u64,
    /// Where the first listed entry begins.
    position: u64,
    listed: VecDeque<DirectoryEntry>,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name, also `.` and `..`.
    pub name: Bytes,
    /// The file behind the name.
    pub id: FileId,
    /// The kind of the file.
    pub kind: Kind,
    /// The attributes; `None` of a file that is gone meanwhile or whose server cannot be reached,
    /// and of `.` and `..`.
    pub attributes: Option<Attributes>,
    /// The position after the entry.
    pub next: u64,
}

impl DirectoryEntry {
    /// Whether the entry is `.` or `..`.
    pub fn is_dots(&self) -> bool {
        matches!(&self.name[..], b"." | b"..")
    }

    fn of_listed(listed: &ListedEntry, next: u64) -> Self {
        Self {
            name: Bytes::copy_from_slice(listed.name.as_bytes()),
            id: listed.entry.id,
            kind: listed.entry.kind,
            attributes: listed.attributes,
            next,
        }
    }

    const fn of_dots(name: &'static [u8], id: FileId, next: u64) -> Self {
        Self {
            name: Bytes::from_static(name),
            id,
            kind: Kind::Directory,
            attributes: None,
            next,
        }
    }
}

impl DirectoryStream {
    /// The entries of a directory from the first one on.
    pub fn new(directory: FileId) -> Self {
        Self {
            directory,
            cookies: Cookies::default(),
            next: 0,
            position: 0,
            listed: VecDeque::new(),
        }
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// `EINVAL` at a position that this stream has never returned; `ENOENT` if the directory is
    /// gone; `EIO` at the end if a server could not be reached, whose entries are missing.
    pub async fn next(
        &mut self,
        client: &impl Operations,
    ) -> Result<Option<DirectoryEntry>, Errno> {
        if self.listed.is_empty() {
            self.list(client).await?;
        }
        let entry = self.listed.pop_front();
        if let Some(entry) = &entry {
            self.position = entry.next;
        }
        Ok(entry)
    }

    /// The position, for [`DirectoryStream::seek`]; 0 is the first.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Continues at a position. Entries are listed anew.
    pub fn seek(&mut self, position: u64) {
        self.listed.clear();
        (self.position, self.next) = (position, position);
    }

    async fn list(&mut self, client: &impl Operations) -> Result<(), Errno> {
        if self.next < AFTER_SELF {
            self.push(DirectoryEntry::of_dots(b".", self.directory, AFTER_SELF));
        }
        if self.next < AFTER_PARENT {
            let parent = match client.core().parent(self.directory).await {
                Err(Errno::ESTALE) => Err(Errno::ENOENT),
                parent => parent,
            };
            self.push(DirectoryEntry::of_dots(b"..", parent?, AFTER_PARENT));
            return Ok(());
        }
        let position = self.cookies.position(self.next)?;
        let entries = client.read_directory(self.directory, position.after, PAGE_ENTRIES, true);
        let page = Page::new(position, entries.await?, PAGE_ENTRIES);
        let (listed, next) = (&mut self.listed, &mut self.next);
        page.pass_on(&mut self.cookies, |entry, cookie| {
            listed.push_back(DirectoryEntry::of_listed(entry, cookie));
            *next = cookie;
            true
        })
    }

    fn push(&mut self, entry: DirectoryEntry) {
        self.next = entry.next;
        self.listed.push_back(entry);
    }
}
