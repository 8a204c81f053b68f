//! Directories.

use super::{Copier, Present};
use crate::{
    Answer, Failure, Found, Item, NodeMetadata, Result, Tree, TreeEntry, TreeListing,
    temporary::{self, Temporaries},
};
use futago_base::Kind;
use std::collections::{HashMap, HashSet};

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Makes a directory, lists the source, compares it with the target, and removes what an
    /// earlier run has left of files that exist no more.
    pub(super) fn directory(&self, item: &Item, answer: &mut Answer) -> Result<()> {
        self.ensure_uninterrupted(&item.source)?;
        // The final mode may forbid the copy to write into it.
        self.target.make_directory(&item.target, 0o700)?;
        let TreeListing {
            entries: present,
            failures,
        } = self.target.list(&item.target);
        answer.failures.extend(failures);
        let listing = self.source.list(&item.source);
        answer.failures.extend(listing.failures);
        let mut entries = Vec::new();
        for entry in listing.entries {
            match temporary::is_temporary(&entry.name) {
                true => answer.failures.push(unfinished(item, &entry)),
                false => entries.push(entry),
            }
        }
        let found: HashMap<_, _> = present.iter().map(|e| (&e.name[..], e.metadata)).collect();
        let compared = entries.iter().map(|entry| Item {
            source: item.source.join(&entry.name),
            target: item.target.join(&entry.name),
            metadata: entry.metadata,
            found: self.compare(entry, found.get(&entry.name[..])),
        });
        answer.entries.extend(compared);
        self.clean(item, &answer.entries, &present)
    }

    /// Compares a listed node with what the target has under its name.
    fn compare(&self, entry: &TreeEntry, present: Option<&NodeMetadata>) -> Found {
        match present {
            Some(present)
                if self.rules.present != Present::Replaced
                    && present.is_copy_of(&entry.metadata) =>
            {
                Found::Whole(*present)
            }
            _ => Found::Other,
        }
    }

    /// Removes temporary files of this copy that no file needs.
    fn clean(&self, item: &Item, entries: &[Item], present: &[TreeEntry]) -> Result<()> {
        let names = Temporaries::between(&item.source, &item.target);
        let left = present.iter().filter(|entry| names.contains(&entry.name));
        let left: Vec<_> = left.map(|entry| item.target.join(&entry.name)).collect();
        if left.is_empty() {
            return Ok(());
        }
        let is_needed = |entry: &&Item| {
            entry.metadata.kind == Kind::File && matches!(entry.found, Found::Other)
        };
        let needed = entries.iter().filter(is_needed);
        let needed: HashSet<_> = needed
            .filter_map(|entry| Some(names.path(entry.source.last_name()?)))
            .collect();
        let mut unneeded = left.iter().filter(|path| !needed.contains(path));
        unneeded.try_for_each(|path| self.target.remove(path))
    }

    /// Sets the attributes of a directory whose entries are complete.
    pub(super) fn directory_attributes(&self, item: &Item) -> Result<()> {
        let source = self.source.open(&item.source, &item.metadata)?;
        let links = crate::Links::Unfollowed;
        let Some(found) = self.target.metadata(&item.target, links)? else {
            return Err(Failure::of_file(&item.target, "finding", "it has vanished"));
        };
        let target = self.target.open(&item.target, &found)?;
        self.copy_attributes(&source, &target, &item.metadata)?;
        self.ensure_unchanged(&item.source, &source, &item.metadata)
    }
}

fn unfinished(directory: &Item, entry: &TreeEntry) -> Failure {
    let path = directory.source.join(&entry.name);
    Failure::of_file(
        &path,
        "copying",
        "it is what an interrupted copy has left there",
    )
}
