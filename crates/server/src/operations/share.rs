//! Clients that share their caches make themselves known, and are listed.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{
    Key, SessionId, View,
    record::{Door, Sort},
};
use futago_wire::{Holder, Reply};

/// The most clients in one reply.
const SHARERS_MAX: usize = 1024;

pub fn share<V: View>(builder: &mut DecisionBuilder<'_, V>, door: &Door) -> Result {
    builder.note_sharer(door);
    Ok(Reply::Done.into())
}

pub fn list<V: View>(builder: &DecisionBuilder<'_, V>, after: SessionId) -> Result {
    let (_, to) = Key::whole_sort(Sort::Sharer);
    let first = SessionId(after.0.saturating_add(1));
    let records = builder.state.range(Key::Sharer(first), to);
    let mut sharers = records.filter_map(|(key, value)| match key {
        Key::Sharer(session) => Some(Holder {
            session: *session,
            door: value.door()?.clone(),
        }),
        _ => None,
    });
    let listed = sharers.by_ref().take(SHARERS_MAX).collect();
    Ok(Reply::Sharers {
        sharers: listed,
        complete: sharers.next().is_none(),
    }
    .into())
}
