//! The changes of one decision on top of a memory store, against a plain model.

use futago_base::{Batch, FileId, SessionId, Value, overlay::Overlay, record::Key};
use futago_store::MemoryStore;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Model = BTreeMap<Key, Value>;
type Change = (Key, Option<u64>);

/// Keys of two kinds, among them many that share a rank.
fn key() -> impl Strategy<Value = Key> {
    let node = (0..3000_u64).prop_map(FileId);
    (node, 0..3_u64, any::<bool>()).prop_map(|(node, session, is_by_node)| {
        let session = SessionId(session);
        match is_by_node {
            true => Key::Lease(node, session),
            false => Key::SessionLease(session, node),
        }
    })
}

fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((key(), prop::option::of(any::<u64>())), 0..most)
}

fn apply(model: &mut Model, changes: &[Change]) {
    for (key, value) in changes {
        match value {
            Some(number) => model.insert(key.clone(), Value::from(*number)),
            None => model.remove(key),
        };
    }
}

fn store(changes: &[Change]) -> MemoryStore {
    let mut store = MemoryStore::new(1 << 30);
    for (key, value) in changes {
        store.apply(Batch {
            records: vec![(key.clone(), value.map(Value::from))],
            data: Vec::new(),
        });
    }
    store
}

fn pairs<'a>(records: impl Iterator<Item = (&'a Key, &'a Value)>) -> Vec<(Key, Value)> {
    let pairs = records.map(|(key, value)| (key.clone(), value.clone()));
    pairs.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn an_overlay_shows_its_changes(
        before in changes(300),
        after in changes(2000),
        asked in prop::collection::vec((key(), key()), 20),
    ) {
        let mut base = store(&before);
        let mut model = Model::new();
        apply(&mut model, &before);
        let mut overlay = Overlay::new(&base);
        for (key, value) in &after {
            match value {
                Some(number) => overlay.put(key.clone(), Value::from(*number)),
                None => overlay.delete(key.clone()),
            }
        }
        apply(&mut model, &after);
        for (from, to) in asked {
            prop_assert_eq!(overlay.get(&from), model.get(&from));
            let expected = match from <= to {
                true => pairs(model.range(from.clone()..to.clone())),
                false => Vec::new(),
            };
            prop_assert_eq!(pairs(overlay.range(from, to)), expected);
        }
        let batch = overlay.into_batch();
        prop_assert!(batch.records.is_sorted_by(|(one, _), (next, _)| one < next));
        base.apply(batch);
        prop_assert_eq!(pairs(base.records()), pairs(model.iter()));
    }
}
