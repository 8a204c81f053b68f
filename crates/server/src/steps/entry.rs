//! Names that are added, removed or replaced.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use crate::state::bucket::EntryLocation;
use alloc::{vec, vec::Vec};
use futago_base::{
    View,
    record::{Entry, Target},
};
use futago_wire::{Failure, Spot};

impl<V: View> DecisionBuilder<'_, V> {
    pub fn check_entry(&self, at: &Spot, expected: Option<Entry>) -> Checked<Vec<Target>> {
        let (location, _) = self.locate_to_change(at)?;
        if self.entry(&location) != expected {
            return Err(Failure::Changed.into());
        }
        Ok(vec![location.target()])
    }

    /// Finds the bucket again, because an earlier step of the same transaction may have split it.
    pub fn install_entry(&mut self, at: &Spot, entry: Option<Entry>) {
        let hash = at.name.hash();
        if let Some((bucket, _)) = self.bucket_of_hash(at.directory, hash) {
            let location = EntryLocation {
                directory: at.directory,
                bucket,
                hash,
                name: at.name.clone(),
            };
            self.set_entry(&location, entry);
        }
    }
}
