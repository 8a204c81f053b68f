//! Defects of what a server decides: it does not see something that the decision depends on.

use super::Defect;
use futago_base::{
    Batch, FileId, Key, SessionId, Value, View,
    record::{Header, Inode},
};
use futago_store::MemoryStore;
use futago_wire::{Request, Spot, Step};
use std::collections::BTreeMap;

/// The sizes that files had before their latest change, in bytes.
#[derive(Clone, Debug, Default)]
pub struct FormerSizes(BTreeMap<FileId, u64>);

impl FormerSizes {
    /// Takes note of the sizes that a batch changes.
    pub fn note(&mut self, batch: &Batch, before: &MemoryStore) {
        for (key, value) in &batch.records {
            if let (Key::Inode(id), Some(Value::Inode(_))) = (key, value) {
                let known = before.get(key).and_then(Value::inode);
                self.0.insert(*id, known.map_or(0, |inode| inode.size));
            }
        }
    }
}

impl Defect {
    /// The records that a server sees with other values while it decides about a request.
    pub(super) fn replaced(
        self,
        store: &MemoryStore,
        session: SessionId,
        request: &Request,
        former: &FormerSizes,
    ) -> Vec<(Key, Value)> {
        let one = match (self, request) {
            (Self::DecidesWithStaleSizes, Request::Write { id, .. }) => stale(store, *id, former),
            (Self::AppendsOverAppends, Request::Append { id, .. }) => {
                without_appends(store, *id, session)
            }
            (Self::SplitsUnderTransactions, Request::Create { at, .. }) => {
                without_pending(store, at)
            }
            _ => None,
        };
        let steps = match request {
            Request::Execute(steps) | Request::Prepare { steps, .. } => steps.as_slice(),
            _ => &[],
        };
        let of_steps = steps
            .iter()
            .filter_map(|step| self.replaced_for(store, step));
        one.into_iter().chain(of_steps).collect()
    }

    /// The same for a step of a transaction.
    fn replaced_for(self, store: &MemoryStore, step: &Step) -> Option<(Key, Value)> {
        match (self, step) {
            (
                Self::RemovesFullDirectories,
                Step::RemoveBucket {
                    directory, bucket, ..
                },
            ) => {
                let key = Key::Header(*directory, *bucket);
                with_header(store, key, |header| header.entries = 0)
            }
            (Self::LinksRemovedFiles, Step::AddLink(id)) => {
                with_inode(store, *id, |inode| inode.linkable = true)
            }
            _ => None,
        }
    }

    /// Alters the steps of a transaction.
    pub(super) fn alter_steps<V: View>(self, steps: &mut Vec<Step>, store: &V) {
        steps.retain(|step| match self {
            Self::ReplacesWithoutDropping => !matches!(step, Step::DropLink(_)),
            Self::KeepsBucketAttributes => !matches!(step, Step::SetHeader { .. }),
            _ => true,
        });
        for step in steps {
            if let (Self::OverwritesNames, Step::PutEntry { at, replaces, .. }) = (self, step) {
                let key = Key::Entry(at.directory, at.name.hash(), at.name.clone());
                *replaces = store.get(&key).and_then(Value::entry).copied();
            }
        }
    }
}

/// A file with the size that it had before its latest change.
fn stale(store: &MemoryStore, id: FileId, former: &FormerSizes) -> Option<(Key, Value)> {
    let size = *former.0.get(&id)?;
    with_inode(store, id, |inode| inode.size = size)
}

/// A file of which no other client appends to the end.
fn without_appends(store: &MemoryStore, id: FileId, session: SessionId) -> Option<(Key, Value)> {
    let key = Key::Opens(id);
    let mut opens = store.get(&key).and_then(Value::opens)?.clone();
    let others = opens.iter_mut().filter(|opener| opener.session != session);
    others.for_each(|opener| opener.appends.clear());
    Some((key, opens.into()))
}

/// A bucket of which no transaction has reserved a name.
fn without_pending(store: &MemoryStore, at: &Spot) -> Option<(Key, Value)> {
    let key = Key::Header(at.directory, at.bucket);
    with_header(store, key, |header| header.pending = 0)
}

fn with_header(
    store: &MemoryStore,
    key: Key,
    change: impl FnOnce(&mut Header),
) -> Option<(Key, Value)> {
    let mut header = *store.get(&key).and_then(Value::header)?;
    change(&mut header);
    Some((key, header.into()))
}

fn with_inode(
    store: &MemoryStore,
    id: FileId,
    change: impl FnOnce(&mut Inode),
) -> Option<(Key, Value)> {
    let key = Key::Inode(id);
    let mut inode = store.get(&key).and_then(Value::inode)?.clone();
    change(&mut inode);
    Some((key, inode.into()))
}
