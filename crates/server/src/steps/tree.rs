//! The version of the tree, which every rename of a directory to another parent advances, so that
//! no two renames can close a cycle.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::{vec, vec::Vec};
use futago_base::{FileId, Key, View, record::Target};
use futago_wire::Failure;

impl<V: View> DecisionBuilder<'_, V> {
    pub fn check_tree(&self, expected: u64) -> Checked<Vec<Target>> {
        if !self.is_at_home(FileId::ROOT) {
            return Err(Failure::WrongServer.into());
        }
        self.unreserved(Target::Tree)?;
        if self.state.number(&Key::TreeVersion) != expected {
            return Err(Failure::Changed.into());
        }
        Ok(vec![Target::Tree])
    }

    pub fn install_tree(&mut self, expected: u64) {
        self.state.put(Key::TreeVersion, expected + 1);
    }
}
