//! Cores: on which of them something runs.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

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
