//! The settings of a run.

use std::sync::Arc;

use serde::Serialize;

use crate::watch::resident_bytes;
use crate::{Error, Placement, Time, Watch};

/// The executor of the events. All give the same results, bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// One thread, one queue.
    #[default]
    Sequential,
    /// Threads that run no further than the lookahead allows.
    Conservative,
    /// Threads that execute speculatively and undo wrong events (Time Warp).
    Optimistic,
}

/// The most threads of a process.
pub const THREADS_MAX: u32 = 1024;

/// The settings of a run of a model: its executor, its end, and its random numbers.
///
/// Only `seed`, `end` and `zero_delay_depth` affect the results.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The executor.
    pub executor: Executor,
    /// Threads in this process; the sequential executor uses one, on the first rank.
    pub threads: u32,
    /// The distribution of processes over threads and ranks.
    pub placement: Placement,
    /// The seed of all random streams.
    pub seed: u64,
    /// Events at this time and later do not take place.
    pub end: Time,
    /// The longest chain of events without delay.
    pub zero_delay_depth: u16,
    /// Optimistic: events that a thread executes between two computations of the global virtual
    /// time.
    pub gvt_interval: u32,
    /// Optimistic: the memory of a thread for events that are not yet certain, in bytes. Without it
    /// the engine uses as much as is useful.
    pub history_limit_bytes: Option<u64>,
    /// Whether to record the keys of all committed events for
    /// [`Outcome::trace`](crate::Outcome::trace).
    pub trace: bool,
    /// The watch for progress reports.
    pub watch: Option<Arc<Watch>>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            executor: Executor::Sequential,
            threads: 1,
            placement: Placement::Block,
            seed: 1,
            end: Time::MAX,
            zero_delay_depth: 10_000,
            gvt_interval: 1_024,
            history_limit_bytes: None,
            trace: false,
            watch: None,
        }
    }
}

impl Settings {
    /// Limits the histories of the optimistic executor so that this operating-system process uses
    /// at most `bytes` of memory. The model itself must fit.
    ///
    /// The history of each thread gets its share of a third of the free memory. Growing buffers may
    /// hold two copies for a moment, and events sent by a history are stored elsewhere.
    ///
    /// # Errors
    ///
    /// If this process already uses that much memory.
    pub fn stay_within(&mut self, bytes: u64) -> Result<(), Error> {
        let used = resident_bytes().unwrap_or(0);
        if bytes <= used {
            let problem = format!("the program takes {used} bytes before it begins");
            return Err(Error::Settings(problem));
        }
        let share = (bytes - used) / 3 / u64::from(self.threads.max(1));
        self.history_limit_bytes = Some(share);
        Ok(())
    }

    /// The threads with work on a rank.
    pub(crate) fn threads_in_use(&self) -> u32 {
        match self.executor {
            Executor::Sequential => 1,
            Executor::Conservative | Executor::Optimistic => self.threads,
        }
    }

    pub(crate) fn check(&self, process_count: u32) -> Result<(), Error> {
        let problem = if process_count == 0 {
            "the model has no processes"
        } else if !(1..=THREADS_MAX).contains(&self.threads) {
            "threads must be between 1 and 1024"
        } else if self.gvt_interval == 0 {
            "the GVT interval must be at least one event"
        } else if self.zero_delay_depth == u16::MAX {
            "the limit of zero-delay chains must be below 65535"
        } else {
            return Ok(());
        };
        Err(Error::Settings(problem.into()))
    }
}
