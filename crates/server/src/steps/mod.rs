//! The steps of transactions: their conditions, their reservations, and their changes.

mod bucket;
mod entry;
mod node;
mod tree;

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::vec::Vec;
use futago_base::{FileId, View, record::Target};
use futago_wire::{Step, step::Fact};

impl<V: View> DecisionBuilder<'_, V> {
    /// Checks the conditions of a step. Returns the records that it reserves.
    pub fn check(&self, step: &Step) -> Checked<Vec<Target>> {
        match step {
            Step::RemoveEntry { at, expected } => self.check_entry(at, Some(*expected)),
            Step::PutEntry { at, replaces, .. } => self.check_entry(at, *replaces),
            Step::CreateDirectory(new) => self.check_create_directory(new),
            Step::RemoveBucket {
                directory,
                bucket,
                level,
            } => self.check_remove_bucket(*directory, *bucket, *level),
            Step::AddLink(id) => self.check_add_link(*id),
            Step::DropLink(id) | Step::Touch(id) => self.check_node(*id),
            Step::SetParent { directory, .. } | Step::SetAttributes { directory, .. } => {
                self.check_node(*directory)
            }
            Step::AdvanceTree { expected } => self.check_tree(*expected),
            Step::SetHeader {
                directory,
                bucket,
                level,
                ..
            } => self.check_set_header(*directory, *bucket, *level),
            Step::Inherit {
                directory,
                bucket,
                inherited,
            } => self.check_inherited(*directory, *bucket, *inherited),
            Step::Expect(fact) => self.check_fact(fact),
        }
    }

    fn check_fact(&self, fact: &Fact) -> Checked<Vec<Target>> {
        match fact {
            Fact::Entry { at, entry } => self.check_entry(at, *entry),
            Fact::NotEmpty {
                directory,
                bucket,
                level,
            } => self.check_not_empty(*directory, *bucket, *level),
            Fact::Linkable(id) => self.check_add_link(*id),
        }
    }

    /// Performs a checked step. `drawn` is the id of the directory that it makes.
    pub fn install(&mut self, step: Step, drawn: Option<FileId>) {
        match step {
            Step::RemoveEntry { at, .. } => self.install_entry(&at, None),
            Step::PutEntry { at, entry, .. } => self.install_entry(&at, Some(entry)),
            Step::CreateDirectory(new) => {
                if let Some(id) = drawn {
                    self.put_directory(id, &new);
                }
            }
            Step::RemoveBucket {
                directory, bucket, ..
            } => {
                self.install_remove_bucket(directory, bucket);
            }
            Step::AddLink(id) => self.install_links(id, 1),
            Step::DropLink(id) => self.drop_link(id),
            Step::Touch(id) => self.install_links(id, 0),
            Step::SetParent { directory, parent } => self.install_parent(directory, parent),
            Step::SetAttributes { directory, change } => {
                self.change_attributes(directory, &change);
            }
            Step::AdvanceTree { expected } => self.install_tree(expected),
            Step::SetHeader {
                directory,
                bucket,
                mode,
                gid,
                chunk_bytes,
                ..
            } => {
                self.install_header(directory, bucket, |header| {
                    header.mode = mode.unwrap_or(header.mode);
                    header.gid = gid.unwrap_or(header.gid);
                    header.chunk_bytes = chunk_bytes.unwrap_or(header.chunk_bytes);
                });
            }
            Step::Inherit { .. } | Step::Expect(_) => {}
        }
    }
}
