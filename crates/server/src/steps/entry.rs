//! Names that come, go or change what they lead to.

use crate::answer::Checked;
use crate::state::bucket::Place;
use crate::turn::Turn;
use alloc::{vec, vec::Vec};
use futago_base::{
    View,
    record::{Entry, Target},
};
use futago_wire::{Failure, Spot};

impl<V: View> Turn<'_, V> {
    pub fn check_entry(&self, at: &Spot, expected: Option<Entry>) -> Checked<Vec<Target>> {
        let (place, _) = self.place_to_change(at)?;
        if self.entry(&place) != expected {
            return Err(Failure::Changed.into());
        }
        Ok(vec![place.target()])
    }

    /// The bucket is looked up anew: an earlier step of the same transaction may have split it.
    pub fn install_entry(&mut self, at: &Spot, entry: Option<Entry>) {
        let hash = at.name.hash();
        if let Some((bucket, _)) = self.bucket_of_hash(at.directory, hash) {
            let place = Place {
                directory: at.directory,
                bucket,
                hash,
                name: at.name.clone(),
            };
            self.set_entry(&place, entry);
        }
    }
}
