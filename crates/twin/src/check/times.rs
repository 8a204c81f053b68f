//! Times never run backwards: a later look at a file shows no earlier ones, a change of its
//! attributes has a later change time than all looks before it, and what a client makes is not
//! older than what it has seen before, as far as clocks of servers are together.

use super::{History, Record};
use crate::model::{Operation, Outcome};
use futago_base::{Attributes, Kind};

/// The first two operations between which a time ran backwards. `are_together` tells whether the
/// clocks that stamp two files are.
pub fn backwards(
    history: &History,
    are_together: impl Fn(&Attributes, &Attributes) -> bool,
) -> Option<String> {
    let seen = || {
        history
            .iter()
            .filter_map(|record| Some((record, attributes(record)?)))
    };
    seen().find_map(|(later, after)| {
        let mut earlier = seen().filter(|(earlier, _)| earlier.end() < later.called);
        let (earlier, _) = earlier.find(|(earlier, before)| {
            let same = before.id == after.id
                && (before.changed > after.changed || before.modified > after.modified);
            let caused = earlier.client == later.client
                && is_new(later)
                && before.changed > after.born
                && are_together(before, after);
            let changes = before.id == after.id && changes_attributes(later);
            same || caused || (changes && before.changed >= after.changed)
        })?;
        Some(format!("{earlier:?}\nis earlier than\n{later:?}\n"))
    })
}

/// The attributes of a file in a result, as far as its times are exact. The times of a directory
/// are combined by the client that asks for them.
fn attributes(record: &Record) -> Option<&Attributes> {
    let (_, Ok(Outcome::File(state, _))) = record.returned.as_ref()? else {
        return None;
    };
    let attributes = &state.attributes;
    let exact = attributes.kind != Kind::Directory
        || is_new(record)
        || matches!(record.operation, Operation::Attributes(_));
    exact.then_some(attributes)
}

/// Whether it sets the change time of a file.
const fn changes_attributes(record: &Record) -> bool {
    matches!(
        record.operation,
        Operation::SetMode { .. } | Operation::SetOwner { .. }
    )
}

const fn is_new(record: &Record) -> bool {
    matches!(record.returned, Some((_, Ok(Outcome::File(_, true)))))
}
