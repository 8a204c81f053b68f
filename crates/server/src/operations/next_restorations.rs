//! Hands released files to a client that restores them.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use alloc::vec::Vec;
use futago_base::{FileId, Key, View, record::Restoration};
use futago_wire::{Reply, Restored};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    ended: &[Restored],
    files_max: u32,
) -> Result {
    builder.note_restorer();
    for restored in ended {
        end_restoration(builder, restored);
    }
    let wanted = builder.wanted_restorations(files_max as usize);
    let by = Restoration::By(builder.request.session);
    for file in &wanted {
        builder.state.put(Key::Restoration(*file), by);
    }
    Ok(Reply::Wanted(wanted).into())
}

/// Ends a restoration by the present session; another one has been given to another client since.
fn end_restoration<V: View>(builder: &mut DecisionBuilder<'_, V>, restored: &Restored) {
    let file = restored.file;
    if !builder.is_restored_by_requester(file) {
        return;
    }
    match restored.error {
        Some(errno) => {
            let failed = Restoration::Failed(errno);
            builder.state.put(Key::Restoration(file), failed);
        }
        None => {
            builder.state.delete(Key::Restoration(file));
            builder
                .state
                .update_inode(file, |inode| inode.released = false);
        }
    }
}

impl<V: View> DecisionBuilder<'_, V> {
    /// Files whose data is wanted and not brought by a living session. Those that do not exist any
    /// more are forgotten.
    fn wanted_restorations(&mut self, files_max: usize) -> Vec<FileId> {
        let (from, to) = Key::restorations();
        let waiting = self.state.range(from, to).filter_map(|(key, value)| {
            let Key::Restoration(file) = key else {
                return None;
            };
            self.is_unattended(*value.restoration()?).then_some(*file)
        });
        let waiting: Vec<FileId> = waiting.take(files_max).collect();
        let exists = |file: &FileId| self.state.inode(*file).is_some();
        let (wanted, gone): (Vec<_>, Vec<_>) = waiting.into_iter().partition(exists);
        for file in gone {
            self.state.delete(Key::Restoration(file));
        }
        wanted
    }
}
