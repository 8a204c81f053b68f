//! Files that have nothing to do with the server behave as in the reference.
//!
//! Operations on one file by its identity do not depend on other files. So each file is checked by
//! itself, if no operation changes its names meanwhile.

use super::{Loss, changed_names, entries};
use crate::check::{History, Record, Verdict, linearize};
use crate::model::{Node, Operation, Tree};
use futago_base::{ChunkId, FileId, Key, Kind, Time, Value, View};
use std::collections::BTreeSet;

/// An unexplained result of a file that the server did not serve.
pub(super) fn mistake(loss: &Loss<'_>) -> Option<String> {
    let renamed = renamed(loss);
    let files = loss.before.nodes.values();
    let mut files = files.filter_map(|node| {
        let file = node
            .file()
            .filter(|file| file.kind == Kind::File && file.links > 0)?;
        Some((node.id?, file.size))
    });
    files.find_map(|(id, size)| {
        let history = history_of(loss, id);
        let is_judged = !renamed.contains(&id) && !is_touched(loss, id, size, &history);
        match is_judged.then(|| judge(loss, id, &history))? {
            Verdict::Unexplained(text) => Some(format!("{id} is untouched, but {text}")),
            Verdict::Explained | Verdict::Undecided => None,
        }
    })
}

/// The files of which a name may be changed.
fn renamed(loss: &Loss<'_>) -> BTreeSet<FileId> {
    let before = entries(loss.before);
    let operations = loss.history.iter().map(|record| &record.operation);
    let targets = operations.flat_map(|operation| {
        let linked = match operation {
            Operation::Link { id, .. } => Some(*id),
            _ => None,
        };
        let spots = changed_names(operation);
        let named = spots
            .into_iter()
            .filter_map(|spot| before.get(&spot).copied());
        named.chain(linked).collect::<Vec<_>>()
    });
    targets.collect()
}

/// The operations on a file by its identity, and the ends of sessions.
fn history_of(loss: &Loss<'_>, id: FileId) -> History {
    let own = loss.history.iter();
    let own = own.filter(|record| record.operation.file() == Some(id));
    let ends = loss.expired.iter().flat_map(|&client| {
        [Operation::ExpireAt(vec![id]), Operation::Expire].map(|operation| Record {
            client,
            operation,
            called: Time(0),
            returned: None,
        })
    });
    own.cloned().chain(ends).collect()
}

/// Whether the server is the home of a file, or may ever be notified of its chunks. How far they
/// may reach doubles with what is written.
fn is_touched(loss: &Loss<'_>, id: FileId, size: u64, history: &History) -> bool {
    let home = loss.stores[usize::from(loss.map.home(id).0)];
    let Some(inode) = home.get(&Key::Inode(id)).and_then(Value::inode) else {
        return true;
    };
    let written: u64 = history.iter().map(|record| end(&record.operation)).sum();
    let chunks = (2 * (size + written))
        .max(inode.reach)
        .div_ceil(loss.setting.chunk_bytes);
    let mut chunks = (0..chunks).map(|index| ChunkId { file: id, index });
    chunks.any(|chunk| loss.map.chunk_server(chunk) == loss.server)
}

/// Up to where an operation may reach, or how much it adds.
const fn end(operation: &Operation) -> u64 {
    match operation {
        Operation::Write { offset, length, .. } => *offset + *length as u64,
        Operation::Append { length, .. } => *length as u64,
        Operation::Allocate { offset, length, .. } => *offset + *length,
        Operation::Truncate { size, .. } => *size,
        _ => 0,
    }
}

fn judge(loss: &Loss<'_>, id: FileId, history: &History) -> Verdict {
    let mut tree = Tree::new(0, 0, 0);
    let node = loss.before.find(id);
    let found = node.and_then(|node| Some((node, loss.before.nodes.get(&node)?.clone())));
    tree.nodes
        .extend(found.filter(|(_, node): &(_, std::rc::Rc<Node>)| node.file().is_some()));
    linearize(history, &tree, None, loss.setting)
}
