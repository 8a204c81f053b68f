//! Cores: on which of them something runs, and beside what.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{
    fs,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

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

/// A core's own cache where the system does not tell: that of many a processor.
const CACHE_BYTES: usize = 1 << 20;
const LINE_BYTES: usize = 64;

/// A thread that fills the core's own cache with data of its own whenever it has its turn, and yields.
pub struct Neighbour {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// On the cores of the calling thread.
    pub fn move_in() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let mut data = vec![0_u8; cache_bytes()];
            while !until.load(Ordering::Relaxed) {
                data.iter_mut()
                    .step_by(LINE_BYTES)
                    .for_each(|byte| *byte ^= 1);
                black_box(&mut data);
                thread::yield_now();
            }
        });
        Self {
            ended,
            thread: Some(thread),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // It has no reason to panic, and would have said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The size of the second-level cache, as Linux tells it: `1024K`.
fn cache_bytes() -> usize {
    let told = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size");
    let kib = told
        .ok()
        .and_then(|size| size.trim().strip_suffix('K')?.parse().ok());
    kib.map_or(CACHE_BYTES, |kib: usize| kib << 10)
}
