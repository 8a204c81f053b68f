//! When two states are one.

use super::{Body, Id, Model, ROOT};
use std::collections::BTreeMap;

impl Model {
    /// The same state with its files numbered in the order of a walk, so that states that differ
    /// only in the order of creation are equal.
    pub fn renumbered(&self) -> Self {
        let mut numbers = BTreeMap::new();
        self.number(ROOT, &mut numbers);
        for id in self.open.iter().flatten().flatten() {
            self.number(*id, &mut numbers);
        }
        let new = |id: &Id| numbers[id];
        let nodes = self.nodes.iter().map(|(id, node)| {
            let mut node = node.clone();
            if let Body::Directory(entries, parent) = &mut node.body {
                entries.values_mut().for_each(|entry| *entry = new(entry));
                *parent = new(parent);
            }
            (new(id), node)
        });
        let open = self
            .open
            .iter()
            .map(|slots| slots.map(|slot| slot.as_ref().map(new)));
        Self {
            nodes: nodes.collect(),
            next: numbers.len() as Id,
            open: open.collect(),
        }
    }

    /// Gives a file, and what is below it, the next numbers, unless it has one.
    fn number(&self, id: Id, numbers: &mut BTreeMap<Id, Id>) {
        if numbers.contains_key(&id) {
            return;
        }
        numbers.insert(id, numbers.len() as Id);
        if let Body::Directory(entries, _) = &self.node(id).body {
            entries
                .values()
                .for_each(|entry| self.number(*entry, numbers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::mounts::operation::{Operation, Outcome};
    use std::rc::Rc;

    fn after(paths: [&str; 2]) -> Model {
        let mut model = Model::new(1);
        for path in paths {
            let made = model.make(path, Body::Directory(BTreeMap::new(), ROOT), 0o755);
            assert_eq!(made.ok(), Some(Outcome::Done));
        }
        model
            .make("one/file", Body::File(Rc::default()), 0o644)
            .ok();
        let open = Operation::Open {
            slot: 1,
            path: "one/file".to_owned(),
        };
        model.apply(0, &open);
        assert_eq!(model.unlink("one/file").ok(), Some(Outcome::Done));
        model
    }

    #[test]
    fn what_was_made_first_makes_no_difference_when_all_is_made() {
        let (one, other) = (after(["one", "two"]), after(["two", "one"]));
        assert_ne!(one, other);
        assert_eq!(one.renumbered(), other.renumbered());
        assert_ne!(one.renumbered(), after(["one", "three"]).renumbered());
        assert_eq!(one.renumbered().nodes.len(), 4);
    }
}
