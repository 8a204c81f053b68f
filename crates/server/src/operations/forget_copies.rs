//! Forgets that a client has pieces of a file in its cache.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use crate::copies;
use crate::operations::find_copies::PIECES_MAX;
use futago_base::{Errno, FileId, Value, View, record::Copies};
use futago_wire::Reply;

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    file: FileId,
    first: u64,
    pieces: u32,
) -> Result {
    if pieces > PIECES_MAX {
        return Err(Errno::EINVAL.into());
    }
    let session = builder.request.session;
    for piece in first..first.saturating_add(pieces.into()) {
        let key = copies::slot(file, piece);
        let known = builder.state.get(&key).and_then(Value::copies);
        let known = known.filter(|known| known.piece == piece);
        if known.is_none() && builder.writer(file) != Some(session) {
            continue;
        }
        let holders = known
            .map(|known| known.holders.iter())
            .into_iter()
            .flatten();
        let others = holders.copied().filter(|it| it.session != session);
        let holders = others.collect();
        builder.state.put(key, Copies { piece, holders });
    }
    Ok(Reply::Done.into())
}
