//! Names lead to what they were made for, or nowhere.

use super::{Loss, Spot, changed_names, entries, lost_entries, made, seen_names};
use crate::check::Record;
use crate::model::{Operation, Outcome, Tree};
use futago_base::{BucketStart, FileId, Key, Kind, Name, View};
use futago_store::MemoryStore;
use futago_wire::ListedEntry;
use std::collections::{BTreeMap, BTreeSet};

/// The first name that was seen to lead where it does not, or not to lead where it does.
pub(super) fn mistake(loss: &Loss<'_>) -> Option<String> {
    let names = Names::of(loss);
    let mut records = loss.history.iter();
    records
        .find_map(|record| names.misled(record).or_else(|| names.missed(record)))
        .or_else(|| names.vanished())
}

struct Names<'a> {
    loss: &'a Loss<'a>,
    before: BTreeMap<Spot, FileId>,
    /// The names that operations may have changed, and by which.
    changed: BTreeMap<Spot, Vec<&'a Record>>,
    /// All files whose making was seen.
    known: BTreeSet<FileId>,
}

impl<'a> Names<'a> {
    fn of(loss: &'a Loss<'a>) -> Self {
        let mut changed: BTreeMap<Spot, Vec<&Record>> = BTreeMap::new();
        for record in loss.history {
            for spot in changed_names(&record.operation) {
                changed.entry(spot).or_default().push(record);
            }
        }
        let before = loss.before.nodes.values();
        let before = before.filter_map(|node| node.id);
        Self {
            loss,
            before: entries(loss.before),
            changed,
            known: before.chain(loss.history.iter().filter_map(made)).collect(),
        }
    }

    fn misled(&self, record: &Record) -> Option<String> {
        let seen = seen_names(record);
        let mut wrong = seen.iter();
        let (spot, id) = wrong.find(|(spot, id)| !self.may_lead(spot, *id, record))?;
        Some(format!("{spot:?} leads to {id}: {record:?}\n"))
    }

    /// Whether a name may lead to a file when an operation ends.
    fn may_lead(&self, spot: &Spot, id: FileId, seen: &Record) -> bool {
        let changes = self.changed.get(spot).into_iter().flatten();
        let mut changes = changes.filter(|change| change.called <= seen.end());
        self.before.get(spot) == Some(&id) || changes.any(|change| self.may_make(change, id))
    }

    /// Whether an operation may have made a name that leads to a file.
    fn may_make(&self, change: &Record, id: FileId) -> bool {
        let observed = change.returned.as_ref().map(|(_, observed)| observed);
        match (&change.operation, observed) {
            (Operation::Rename { .. }, _) => true,
            (Operation::Link { id: linked, .. }, _) => *linked == id,
            (_, Some(Ok(Outcome::File(state, true)))) => state.attributes.id == id,
            (Operation::Create { .. } | Operation::MakeDirectory { .. }, None | Some(Err(_))) => {
                !self.known.contains(&id)
            }
            _ => false,
        }
    }

    /// A name that nobody changes, of a directory and a file that are not lost, and was not found.
    fn missed(&self, record: &Record) -> Option<String> {
        let observed = record.returned.as_ref().map(|(_, observed)| observed)?;
        let missing = match (&record.operation, observed) {
            (Operation::Lookup { directory, name }, Err(_)) if is_whole(self.loss, *directory) => {
                let found = self.steady(&(*directory, name.clone()));
                found.filter(|&id| self.is_steady_file(id))
            }
            (Operation::ReadDirectory { directory, .. }, Ok(Outcome::Listing(listed)))
                if is_whole(self.loss, *directory) =>
            {
                self.unlisted(*directory, listed)
            }
            _ => None,
        };
        missing.map(|id| format!("a name of {id} was not found: {record:?}\n"))
    }

    fn unlisted(&self, directory: FileId, listed: &[ListedEntry]) -> Option<FileId> {
        let own = self.before.keys().filter(|spot| spot.0 == directory);
        let is_listed = |name: &Name| listed.iter().any(|entry| entry.name == *name);
        let mut missing = own.filter(|spot| !is_listed(&spot.1));
        missing.find_map(|spot| self.steady(spot))
    }

    /// Where a name leads all the time, as nobody changes it.
    fn steady(&self, spot: &Spot) -> Option<FileId> {
        let is_changed = self.changed.contains_key(spot);
        self.before.get(spot).copied().filter(|_| !is_changed)
    }

    /// Whether what `stat` tells of a file waits for nothing that may be lost.
    fn is_steady_file(&self, id: FileId) -> bool {
        let links = |record: &Record| matches!(record.operation, Operation::Link { id: linked, .. } if linked == id);
        !self.loss.is_home(id)
            && kind(self.loss.before, id) != Some(Kind::Directory)
            && !self.loss.history.iter().any(links)
    }

    /// A name that nobody has changed and that the server did not hold, but that is not there any
    /// more, or twice.
    fn vanished(&self) -> Option<String> {
        let lost = lost_entries(self.loss.lost);
        let mut steady = self
            .before
            .keys()
            .filter(|spot| self.steady(spot).is_some());
        let (directory, name) = steady.find(|spot| {
            let key = Key::Entry(spot.0, spot.1.hash(), spot.1.clone());
            let has = |store: &&&MemoryStore| store.get(&key).is_some();
            let count = self.loss.stores.iter().filter(has).count();
            !lost.contains_key(spot) && count != 1
        })?;
        Some(format!("{name} in {directory} is lost, or there twice\n"))
    }
}

fn kind(tree: &Tree, id: FileId) -> Option<Kind> {
    Some(tree.node(tree.find(id)?)?.kind())
}

/// Whether no bucket of a directory was ever on the server.
fn is_whole(loss: &Loss<'_>, directory: FileId) -> bool {
    let first = Key::Header(directory, BucketStart(0));
    let last = Key::Header(directory, BucketStart(u64::MAX));
    let now = &loss.stores[usize::from(loss.server.0)];
    let has = |store: &MemoryStore| store.range(first.clone(), last.clone()).next().is_some();
    !loss.is_home(directory) && !loss.lost.iter().any(has) && !has(now)
}
