//! Data: sizes and bytes.

use super::apply::{Errors, Expected};
use super::{Call, Content, File, Node, NodeId, Operation, Placed, Slice, Tree};
use futago_base::{Errno, FileId, Kind};
use futago_client::AllocateMode;

pub(super) fn run(tree: &mut Tree, call: &Call<'_>, slice: Slice) -> Result<Expected, Errors> {
    use Operation as O;
    let part = Part { call, slice };
    match call.operation {
        O::Truncate { id, size } => truncate(tree, *id, *size),
        O::Read { id, offset, length } => part.read(tree, *id, *offset, u64::from(*length)),
        O::Write {
            id,
            offset,
            length,
            tag,
        } => part.write(tree, *id, *offset, u64::from(*length), *tag),
        O::Append { id, length, tag } => part.append(tree, *id, u64::from(*length), *tag),
        O::Allocate {
            id,
            mode,
            offset,
            length,
        } => part.allocate(tree, *id, *mode, *offset, *length),
        O::SeekData { id, offset } => seek_data(tree, call, *id, *offset),
        O::SeekHole { id, offset } => seek_hole(tree, call, *id, *offset),
        O::CopyRange {
            source,
            from,
            target,
            offset,
            length,
        } => part.copy(tree, *source, *from, *target, *offset, *length),
        _ => Err(vec![Errno::ENOSYS]),
    }
}

/// A regular file that exists.
fn regular(tree: &Tree, id: FileId) -> Result<NodeId, Errors> {
    let node = tree.find(id).ok_or_else(|| vec![Errno::ENOENT])?;
    match tree.node(node).map(Node::kind) {
        Some(Kind::File) => Ok(node),
        Some(Kind::Directory) => Err(vec![Errno::EISDIR]),
        _ => Err(vec![Errno::EINVAL]),
    }
}

fn file(tree: &Tree, id: FileId) -> Result<&File, Errors> {
    let node = regular(tree, id)?;
    let file = tree.node(node).and_then(Node::file);
    file.ok_or_else(|| vec![Errno::ENOENT])
}

fn file_mut(tree: &mut Tree, id: FileId) -> Result<&mut File, Errors> {
    let node = regular(tree, id)?;
    let file = tree.node_mut(node).and_then(Node::file_mut);
    file.ok_or_else(|| vec![Errno::ENOENT])
}

/// Writes whose home has done its part are truncated, too, whenever their chunks follow.
fn truncate(tree: &mut Tree, id: FileId, size: u64) -> Result<Expected, Errors> {
    let node = regular(tree, id)?;
    let file = file_mut(tree, id)?;
    if size < file.size {
        file.data.clear(size, u64::MAX);
        for placed in tree
            .placed
            .values_mut()
            .filter(|placed| placed.node == node)
        {
            placed.cut = placed.cut.min(size);
        }
    }
    file_mut(tree, id)?.size = size;
    Ok(Expected::Any)
}

/// The number that a call returned.
const fn seen_number(call: &Call<'_>) -> Option<u64> {
    match call.observed {
        Some(Ok(super::Outcome::Number(number))) => Some(*number),
        _ => None,
    }
}

/// Zeros may be data or hole, as the file system likes: what is found must not be beyond the next
/// byte that is not zero.
fn seek_data(tree: &Tree, call: &Call<'_>, id: FileId, offset: u64) -> Result<Expected, Errors> {
    let file = file(tree, id)?;
    let next = file.data.next_data(offset).filter(|&at| at < file.size);
    match (next, seen_number(call)) {
        (next, Some(seen)) if seen >= offset && seen < file.size => {
            let latest = next.unwrap_or(file.size);
            Ok(Expected::Number(seen.min(latest)))
        }
        (Some(next), _) => Ok(Expected::Number(next)),
        (None, _) => Err(vec![Errno::ENXIO]),
    }
}

/// The end of the file is a hole, too.
fn seek_hole(tree: &Tree, call: &Call<'_>, id: FileId, offset: u64) -> Result<Expected, Errors> {
    let file = file(tree, id)?;
    if offset >= file.size {
        return Err(vec![Errno::ENXIO]);
    }
    let next = file.data.next_hole(offset).min(file.size);
    match seen_number(call) {
        Some(seen) if seen > next && seen <= file.size => {
            let hole = seen == file.size || file.data.next_hole(seen) == seen;
            Ok(Expected::Number(if hole { seen } else { next }))
        }
        _ => Ok(Expected::Number(next)),
    }
}

/// The part of an operation that takes effect.
struct Part<'a> {
    call: &'a Call<'a>,
    slice: Slice,
}

impl Part<'_> {
    /// The piece of `from..to` that this slice is about.
    fn piece(&self, from: u64, to: u64) -> (u64, u64) {
        let chunk = self.call.chunk_bytes;
        let (low, high) = match self.slice {
            Slice::Home | Slice::Granted => (0, chunk),
            Slice::Chunk(index) | Slice::Early(index) => (index * chunk, (index + 1) * chunk),
            _ => (0, u64::MAX),
        };
        (from.max(low), to.min(high).max(from.max(low)))
    }

    /// The same of a change, without what has been cut since the home's part was done.
    fn changed_piece(&self, tree: &Tree, from: u64, to: u64) -> (u64, u64) {
        let placed = tree.placed.get(&self.call.index);
        let (from, to) = self.piece(from, to);
        (
            from,
            placed.map_or(to, |placed| to.min(placed.cut)).max(from),
        )
    }

    /// Remembers that the home's part is done, and that the parts on other chunks end at `cut`.
    fn place(&self, tree: &mut Tree, id: FileId, offset: u64, cut: u64) {
        if let (true, Some(node)) = (self.at_home(), tree.find(id)) {
            let placed = Placed { node, offset, cut };
            tree.placed.insert(self.call.index, placed);
        }
    }

    /// Whether what the home decides is part of this slice.
    const fn at_home(&self) -> bool {
        matches!(self.slice, Slice::Home | Slice::Granted | Slice::Whole)
    }

    fn write(
        &self,
        tree: &mut Tree,
        id: FileId,
        offset: u64,
        length: u64,
        tag: u8,
    ) -> Result<Expected, Errors> {
        let (from, to) = self.changed_piece(tree, offset, offset + length);
        self.place(tree, id, offset, u64::MAX);
        let file = match file_mut(tree, id) {
            // A chunk of a file that is gone takes anything.
            Err(_) if !self.at_home() => return Ok(Expected::Any),
            file => file?,
        };
        file.data.write(from, to, tag);
        if !self.at_home() {
            return Ok(Expected::Any);
        }
        file.size = file.size.max(offset + length);
        Ok(Expected::Number(file.size))
    }

    fn append(
        &self,
        tree: &mut Tree,
        id: FileId,
        length: u64,
        tag: u8,
    ) -> Result<Expected, Errors> {
        let placed = tree.placed.get(&self.call.index);
        let passed = seen_number(self.call).filter(|_| placed.is_none());
        if let Slice::Chunk(step) = self.slice {
            let offset = placed.map(|placed| placed.offset).or(passed);
            let offset = offset.unwrap_or_default();
            let chunk = offset / self.call.chunk_bytes + step;
            if chunk > 0 || passed.is_some() {
                let slice = Slice::Chunk(chunk);
                let part = Part { slice, ..*self };
                part.write(tree, id, offset, length, tag)?;
            }
            return Ok(Expected::Any);
        }
        let known = placed.map(|placed| placed.offset).or(passed);
        if let (Slice::Finished, Some(offset)) = (self.slice, known) {
            let file = file_mut(tree, id)?;
            file.size = file.size.max(offset + length);
            return Ok(Expected::Number(offset));
        }
        let offset = file(tree, id)?.size;
        self.write(tree, id, offset, length, tag)?;
        if self.slice == Slice::Granted {
            file_mut(tree, id)?.size = offset;
        }
        Ok(Expected::Number(offset))
    }

    fn allocate(
        &self,
        tree: &mut Tree,
        id: FileId,
        mode: AllocateMode,
        offset: u64,
        length: u64,
    ) -> Result<Expected, Errors> {
        let end = offset + length;
        let (from, to) = self.changed_piece(tree, offset, end);
        let (clears, grows) = match mode {
            AllocateMode::Allocate { keep_size } => (false, !keep_size),
            AllocateMode::PunchHole => (true, false),
            AllocateMode::ZeroRange { keep_size } => (true, !keep_size),
        };
        // A hole spares what others are writing beyond the size.
        let cut = match file(tree, id) {
            Ok(file) if !grows => file.size,
            _ => u64::MAX,
        };
        self.place(tree, id, offset, cut);
        let file = match file_mut(tree, id) {
            Err(_) if !self.at_home() => return Ok(Expected::Done),
            file => file?,
        };
        if clears {
            file.data.clear(from, to);
        }
        if grows && self.at_home() {
            file.size = file.size.max(end);
        }
        Ok(Expected::Done)
    }

    fn copy(
        &self,
        tree: &mut Tree,
        source: FileId,
        from: u64,
        target: FileId,
        offset: u64,
        length: u64,
    ) -> Result<Expected, Errors> {
        if source == target && from < offset + length && offset < from + length {
            return Err(vec![Errno::EINVAL]);
        }
        let data = file(tree, source)?;
        let length = length.min(data.size.saturating_sub(from));
        if length == 0 && self.slice == Slice::Whole {
            return Ok(Expected::Number(0));
        }
        let length = match (self.slice, self.call.observed) {
            // A server that got full ended the copy early.
            (Slice::Whole, Some(Ok(super::Outcome::Number(copied))))
                if self.call.limited && *copied > 0 =>
            {
                length.min(*copied)
            }
            _ => length,
        };
        let (low, high) = match self.slice {
            Slice::Copied(low, high) => (low.min(length), high.min(length)),
            Slice::Grown(_) => (0, 0),
            _ => (0, length),
        };
        let piece = data.data.within(from + low, from + high);
        let copy = file_mut(tree, target)?;
        copy.data.clear(offset + low, offset + high);
        for run in piece.runs() {
            let shift = |position| position - from + offset;
            copy.data.write(shift(run.from), shift(run.to), run.tag);
        }
        let grown = match self.slice {
            Slice::Grown(grown) => grown.min(length),
            Slice::Copied(..) => 0,
            _ => length,
        };
        if grown > 0 {
            copy.size = copy.size.max(offset + grown);
        }
        Ok(match self.slice {
            Slice::Whole => Expected::Number(length),
            _ => Expected::Any,
        })
    }

    fn read(&self, tree: &Tree, id: FileId, offset: u64, length: u64) -> Result<Expected, Errors> {
        let file = match file(tree, id) {
            Err(_) if !self.at_home() => return Ok(Expected::Any),
            Ok(file) if !self.at_home() && file.may_be_gone() => return Ok(Expected::Any),
            file => file?,
        };
        let available = length.min(file.size.saturating_sub(offset));
        let seen = match self.call.observed {
            Some(Ok(super::Outcome::Bytes(bytes))) => bytes.len() as u64,
            _ => available,
        };
        let (from, to) = self.piece(offset, offset + seen);
        Ok(Expected::Data {
            offset,
            length: self.at_home().then_some(available),
            from,
            to,
            content: file.data.within(from, to),
        })
    }
}

impl File {
    /// The data that can be read.
    pub fn visible_data(&self) -> Content {
        self.data.within(0, self.size)
    }
}
