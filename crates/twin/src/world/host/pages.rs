//! The file data of a server that is in the memory of its host. The rest is on its disk alone.

use crate::world::DiskReads;
use futago_base::ChunkId;
use futago_base::reversible::{Changes, ReversibleMap};
use serde::Serialize;

/// The chunks that are in memory. Those that were used last stay.
#[derive(Debug, Default, Serialize)]
pub struct Pages {
    used: ReversibleMap<ChunkId, Use>,
    /// The chunks in the order of their latest use.
    order: ReversibleMap<u64, ChunkId>,
    state: State,
}

/// The small parts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct State {
    /// How often chunks were used.
    uses: u64,
    /// The data in memory.
    bytes: u64,
}

/// The latest use of a chunk.
#[derive(Clone, Copy, Debug, Serialize)]
struct Use {
    number: u64,
    bytes: u64,
}

/// The changes of [`Pages`] to undo.
#[derive(Debug)]
pub struct PagesUndo {
    used: Changes<ChunkId, Use>,
    order: Changes<u64, ChunkId>,
    state: State,
}

impl Pages {
    /// So much of a chunk is written.
    pub fn write(&mut self, chunk: ChunkId, bytes: u64, reads: &DiskReads) {
        self.touch(chunk, bytes, reads);
    }

    /// So much of a chunk is read. Returns how long the disk takes if it is not in memory, in
    /// nanoseconds; `draw` is its time besides the bytes.
    pub fn read(
        &mut self,
        chunk: ChunkId,
        bytes: u64,
        reads: &DiskReads,
        draw: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let is_there = self.used.contains_key(&chunk);
        self.touch(chunk, bytes, reads);
        let bytes_ns = (bytes as f64 * reads.byte_ns).round() as u64;
        (!is_there).then(|| draw() + bytes_ns)
    }

    fn touch(&mut self, chunk: ChunkId, bytes: u64, reads: &DiskReads) {
        let before = self.used.get(&chunk).copied();
        if let Some(before) = before {
            self.order.remove(&before.number);
        }
        let known = before.map_or(0, |before| before.bytes);
        let number = self.state.uses;
        let bytes = bytes.max(known);
        self.used.insert(chunk, Use { number, bytes });
        self.order.insert(number, chunk);
        self.state.uses += 1;
        self.state.bytes += bytes - known;
        let most = u64::from(reads.memory_mib) << 20;
        while self.state.bytes > most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            let gone = self.used.remove(&oldest);
            self.state.bytes -= gone.map_or(0, |gone| gone.bytes);
        }
    }

    /// The undo of the next event; to be called before it.
    pub fn begin_undo(&mut self) -> PagesUndo {
        self.used.record_changes();
        self.order.record_changes();
        PagesUndo {
            used: Changes::default(),
            order: Changes::default(),
            state: self.state,
        }
    }

    /// The event is over.
    pub fn end_undo(&mut self, undo: &mut PagesUndo) {
        undo.used = self.used.take_changes();
        undo.order = self.order.take_changes();
    }

    /// Undoes the latest event that has not been undone, even if it broke off.
    pub fn undo(&mut self, undo: PagesUndo) {
        let (used, order) = (self.used.take_changes(), self.order.take_changes());
        self.used.take_back(used);
        self.order.take_back(order);
        self.used.take_back(undo.used);
        self.order.take_back(undo.order);
        self.state = undo.state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::FileId;

    const READS: DiskReads = DiskReads {
        memory_mib: 2,
        latency: crate::world::Latency::Constant(100),
        byte_ns: 1.0,
    };
    const CHUNK_BYTES: u64 = 1 << 20;

    fn chunk(index: u64) -> ChunkId {
        let file = FileId(1);
        ChunkId { file, index }
    }

    fn read(pages: &mut Pages, index: u64) -> Option<u64> {
        pages.read(chunk(index), CHUNK_BYTES, &READS, || 100)
    }

    #[test]
    fn the_disk_reads_what_was_not_used_for_long() {
        let mut pages = Pages::default();
        for index in 0..3 {
            pages.write(chunk(index), CHUNK_BYTES, &READS);
        }
        let each = Some(100 + CHUNK_BYTES);
        assert_eq!(read(&mut pages, 1), None);
        assert_eq!(read(&mut pages, 0), each);
        assert_eq!(read(&mut pages, 2), each);
        assert_eq!(read(&mut pages, 0), None);
    }

    #[test]
    fn an_event_is_undone() {
        let mut pages = Pages::default();
        pages.write(chunk(0), CHUNK_BYTES, &READS);
        let before = format!(
            "{:?}",
            (&pages.used.iter().collect::<Vec<_>>(), pages.state)
        );
        let mut undo = pages.begin_undo();
        for index in 1..4 {
            read(&mut pages, index);
        }
        pages.end_undo(&mut undo);
        assert_eq!(read(&mut pages, 3), None);
        pages.undo(undo);
        let after = format!(
            "{:?}",
            (&pages.used.iter().collect::<Vec<_>>(), pages.state)
        );
        assert_eq!(after, before);
        assert!(read(&mut pages, 3).is_some());
    }
}
