//! Permitted results after a server has lost its data and has begun a new incarnation.
//!
//! The reference model does not apply then, because the loss depends on timing. These rules do:
//! - [`identities`]: no new file has the identity of another one.
//! - [`names`]: a name leads to what it was made for, or nowhere; where the loss has no part in it,
//!   it leads there all the time.
//! - [`data`]: a file shows bytes that were written to it, and none of them as a hole.
//! - [`untouched`]: a file that has nothing to do with the server behaves as in the reference.
//! - [`records`]: a check of the file system finds what the loss explains, and nothing else.

mod data;
mod identities;
mod marks;
mod names;
mod records;
mod untouched;

pub use marks::Marks;

pub use identities::repeated;

use super::{History, Record, Setting};
use crate::model::{Operation, Outcome, Tree};
use futago_base::{ClusterMap, Errno, FileId, Key, Name, ServerId, Time, Value};
use futago_lab::check::Listing;
use futago_store::MemoryStore;
use futago_wire::{PeerChange, codec};
use std::collections::BTreeMap;

/// A server that has lost what it held, and what happened around that.
pub struct Loss<'a> {
    /// Which server owns what.
    pub map: &'a ClusterMap,
    /// The server.
    pub server: ServerId,
    /// The stores of the server when it stopped, one for each life that ended.
    pub lost: &'a [MemoryStore],
    /// The stores of all servers now.
    pub stores: &'a [&'a MemoryStore],
    /// When the server stopped, and when its last life began.
    pub away: (Time, Time),
    /// The tree before anything of this happened.
    pub before: &'a Tree,
    /// The operations of clients since then.
    pub history: &'a History,
    /// The clients that have lost their sessions.
    pub expired: &'a [usize],
    /// The circumstances of the operations.
    pub setting: Setting,
    /// Whether clients send at once what they write.
    pub sends_at_once: bool,
}

impl Loss<'_> {
    /// The first thing that is wrong in what clients saw.
    pub fn mistake(&self, marks: &mut Marks) -> Option<String> {
        self.strange_error()
            .or_else(|| repeated(self.before, self.history))
            .or_else(|| names::mistake(self))
            .or_else(|| data::mistake(self, marks))
            .or_else(|| untouched::mistake(self))
    }

    /// Findings of a check of all records that the loss does not explain.
    pub fn unexplained(&self, listings: &[Listing]) -> Vec<String> {
        records::unexplained(self, listings)
    }

    /// Whether the server is a file's home.
    fn is_home(&self, file: FileId) -> bool {
        self.map.home(file) == self.server
    }

    fn strange_error(&self) -> Option<String> {
        let odd = [Errno::EPROTO, Errno::ENOSYS, Errno::ETIMEDOUT];
        let is_odd = |record: &&Record| {
            let observed = record.returned.as_ref().map(|(_, observed)| observed);
            matches!(observed, Some(Err(errno)) if odd.contains(errno))
        };
        let record = self.history.iter().find(is_odd)?;
        Some(format!("no clean failure: {record:?}\n"))
    }
}

/// A name in a directory.
type Spot = (FileId, Name);

/// Where the names of a tree lead.
fn entries(tree: &Tree) -> BTreeMap<Spot, FileId> {
    let directories = tree.nodes.values();
    let directories = directories.filter_map(|node| Some((node.id?, node.entries()?)));
    let entries = directories.flat_map(|(directory, entries)| {
        entries.iter().filter_map(move |(name, &node)| {
            let target = tree.node(node)?.id?;
            Some(((directory, name.clone()), target))
        })
    });
    entries.collect()
}

/// Where the names lead that the server held, or had given away and not got rid of.
fn lost_entries(lost: &[MemoryStore]) -> BTreeMap<Spot, FileId> {
    let records = lost.iter().flat_map(MemoryStore::records);
    let entries = records.flat_map(|(key, value)| match (key, value) {
        (Key::Entry(directory, _, name), Value::Entry(entry)) => {
            vec![((*directory, name.clone()), entry.id)]
        }
        (Key::Outbox(..), Value::Message(message)) => moving(&message.body),
        _ => Vec::new(),
    });
    entries.collect()
}

/// The names that a message takes to another server.
fn moving(body: &[u8]) -> Vec<(Spot, FileId)> {
    let Ok(PeerChange::Transfer {
        directory, entries, ..
    }) = codec::decode(body)
    else {
        return Vec::new();
    };
    let entries = entries.into_iter();
    entries
        .map(|(name, entry)| ((directory, name), entry.id))
        .collect()
}

/// The names that an operation may change.
fn changed_names(operation: &Operation) -> Vec<Spot> {
    use Operation as O;
    match operation {
        O::Create {
            directory, name, ..
        }
        | O::MakeDirectory {
            directory, name, ..
        }
        | O::Unlink { directory, name }
        | O::RemoveDirectory { directory, name }
        | O::Link {
            directory, name, ..
        } => vec![(*directory, name.clone())],
        O::Rename {
            directory,
            name,
            new_directory,
            new_name,
            ..
        } => vec![
            (*directory, name.clone()),
            (*new_directory, new_name.clone()),
        ],
        _ => Vec::new(),
    }
}

/// The file that an operation has made.
fn made(record: &Record) -> Option<FileId> {
    match &record.returned {
        Some((_, Ok(Outcome::File(state, true)))) => Some(state.attributes.id),
        _ => None,
    }
}

/// Where an operation saw names lead.
fn seen_names(record: &Record) -> Vec<(Spot, FileId)> {
    let Some((_, Ok(outcome))) = &record.returned else {
        return Vec::new();
    };
    match (&record.operation, outcome) {
        (
            Operation::Lookup { directory, name }
            | Operation::Create {
                directory, name, ..
            }
            | Operation::MakeDirectory {
                directory, name, ..
            }
            | Operation::Link {
                directory, name, ..
            },
            Outcome::File(state, _),
        ) => vec![((*directory, name.clone()), state.attributes.id)],
        (Operation::ReadDirectory { directory, .. }, Outcome::Listing(listed)) => {
            let seen = listed.iter();
            seen.map(|entry| ((*directory, entry.name.clone()), entry.entry.id))
                .collect()
        }
        _ => Vec::new(),
    }
}
