//! Cores: on which of them something runs.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that the calling thread may use; none if the system does not tell.
pub fn allowed() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|&core| allowed.is_set(core)).collect()
}

/// Has the calling thread stay on a core. Who may not be bound stays where it is.
pub fn bind(core: usize) {
    let mut one = CpuSet::new();
    one.set(core);
    let _ = sched_setaffinity(None, &one);
}

/// This thread, and the processes and threads that it starts, run on one core meanwhile.
pub struct OnOneCore(CpuSet);

impl OnOneCore {
    pub fn bind() -> anyhow::Result<Self> {
        let before = sched_getaffinity(None).context("asking for the cores")?;
        let mut one = CpuSet::new();
        let first = (0..CpuSet::MAX_CPU).find(|&core| before.is_set(core));
        one.set(first.unwrap_or(0));
        sched_setaffinity(None, &one).context("binding to one core")?;
        Ok(Self(before))
    }
}

impl Drop for OnOneCore {
    fn drop(&mut self) {
        // What was allowed before is allowed.
        let _ = sched_setaffinity(None, &self.0);
    }
}
