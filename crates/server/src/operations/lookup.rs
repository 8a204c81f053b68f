//! Finds a name.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{Errno, View};
use futago_wire::{Reply, Spot};

pub fn run<V: View>(builder: &DecisionBuilder<'_, V>, at: &Spot) -> Result {
    let (location, _) = builder.locate(at)?;
    let entry = builder.entry(&location).ok_or(Errno::ENOENT)?;
    let state = builder.file_state_if_at_home(entry.id)?;
    Ok(Reply::Found {
        entry,
        state,
        created: false,
        directory: None,
    }
    .into())
}
