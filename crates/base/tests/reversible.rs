//! A reversible map undoes exactly the changes that were made.

use futago_base::reversible::ReversibleMap;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(u8, u32),
    Remove(u8),
    Add(u8, u32),
    PopFirst,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..8u8, any::<u32>()).prop_map(|(key, value)| Change::Insert(key, value)),
        (0..8u8).prop_map(Change::Remove),
        (0..8u8, any::<u32>()).prop_map(|(key, value)| Change::Add(key, value)),
        Just(Change::PopFirst),
    ]
}

fn apply(map: &mut ReversibleMap<u8, u32>, change: Change) {
    match change {
        Change::Insert(key, value) => drop(map.insert(key, value)),
        Change::Remove(key) => drop(map.remove(&key)),
        Change::Add(key, by) => {
            if let Some(value) = map.get_mut(&key) {
                *value = value.wrapping_add(by);
            }
        }
        Change::PopFirst => drop(map.pop_first()),
    }
}

fn entries(map: &ReversibleMap<u8, u32>) -> BTreeMap<u8, u32> {
    map.iter().map(|(&key, &value)| (key, value)).collect()
}

proptest! {
    #[test]
    fn changes_are_taken_back_one_group_after_the_other(
        groups in prop::collection::vec(prop::collection::vec(change(), 0..12), 0..8),
    ) {
        let mut map = ReversibleMap::new();
        map.record_changes();
        let mut past = Vec::new();
        for group in groups {
            let before = entries(&map);
            for change in group {
                apply(&mut map, change);
            }
            past.push((before, map.take_changes()));
        }
        for (before, changes) in past.into_iter().rev() {
            map.take_back(changes);
            prop_assert_eq!(entries(&map), before);
        }
    }
}

#[test]
fn nothing_is_recorded_without_a_request() {
    let mut map = ReversibleMap::new();
    map.insert(1, 'a');
    let changes = map.take_changes();
    map.take_back(changes);
    assert_eq!(map.get(&1), Some(&'a'));
}
