//! The cores of a host.

use serde::Serialize;

/// Cores that are assigned in the order of arrival.
///
/// A process learns on arrival when a core will be free, because no later process is served
/// earlier.
#[derive(Debug, Serialize)]
pub struct Cores {
    /// When each is free.
    free_ns: Vec<u64>,
    /// The values that the present event has replaced.
    #[serde(skip)]
    replaced: Vec<(usize, u64)>,
}

/// The undo of changes of [`Cores`].
#[derive(Debug, Default)]
pub struct CoresUndo(Vec<(usize, u64)>);

impl Cores {
    pub fn new(count: u32) -> Self {
        Self {
            free_ns: vec![0; count as usize],
            replaced: Vec::new(),
        }
    }

    /// From when on the core that is free first can be taken, from `ns` on at the earliest.
    pub fn free_from(&self, ns: u64) -> u64 {
        let first = self.free_ns.iter().copied().min();
        ns.max(first.unwrap_or_default())
    }

    /// Takes the core that is free first, from `ns` on at the earliest. Returns when the span
    /// begins.
    pub fn occupy(&mut self, ns: u64, span_ns: u64) -> u64 {
        let free = self.free_ns.iter().copied().enumerate();
        let (core, free_ns) = free.min_by_key(|&(_, free)| free).unwrap_or_default();
        let started_ns = ns.max(free_ns);
        self.replaced.push((core, free_ns));
        self.free_ns[core] = started_ns + span_ns;
        started_ns
    }

    /// The undo of the changes since the last call.
    pub fn take_changes(&mut self) -> CoresUndo {
        CoresUndo(std::mem::take(&mut self.replaced))
    }

    /// Forgets how the changes since the last time are taken back.
    pub fn forget_changes(&mut self) {
        self.replaced.clear();
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: CoresUndo) {
        for (core, free_ns) in undo.0.into_iter().rev() {
            self.free_ns[core] = free_ns;
        }
    }
}
