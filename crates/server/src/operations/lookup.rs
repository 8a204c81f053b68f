//! Finds a name.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{Errno, View};
use futago_wire::{Reply, Spot};

pub fn run<V: View>(turn: &Turn<'_, V>, at: &Spot) -> Result {
    let (place, _) = turn.place(at)?;
    let entry = turn.entry(&place).ok_or(Errno::ENOENT)?;
    let state = turn.file_state_if_at_home(entry.id)?;
    Ok(Reply::Found {
        entry,
        state,
        created: false,
        directory: None,
    }
    .into())
}
