//! How to run a model.

use std::sync::Arc;

use serde::Serialize;

use crate::watch::resident_bytes;
use crate::{Error, Placement, Time, Watch};

/// Who runs the events. All give the same results, bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// One thread, one queue.
    #[default]
    Sequential,
    /// Threads that run no further than the lookahead allows.
    Conservative,
    /// Threads that run ahead and take back what turns out to be wrong (Time Warp).
    Optimistic,
}

/// The most threads of a process.
pub const THREADS_MAX: u32 = 1024;

/// How to run a model: where, how far, and with which random numbers.
///
/// Only `seed`, `end` and `zero_delay_depth` have an influence on the results.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who runs the events.
    pub executor: Executor,
    /// Threads in this process; the sequential executor uses one, on the first rank.
    pub threads: u32,
    /// How processes are spread over threads and ranks.
    pub placement: Placement,
    /// Chooses all random streams.
    pub seed: u64,
    /// Events at this time and later do not take place.
    pub end: Time,
    /// The longest chain of events without delay.
    pub zero_delay_depth: u16,
    /// Optimistic: events that a thread executes between two computations of the global virtual
    /// time.
    pub gvt_interval: u32,
    /// Optimistic: what a thread may keep of events that are not yet certain, in bytes. Without it
    /// the engine keeps as much as is useful.
    pub history_limit_bytes: Option<u64>,
    /// Keep the keys of all committed events for [`Outcome::trace`](crate::Outcome::trace).
    pub trace: bool,
    /// Where to show progress while running.
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
    /// no more memory than this, in bytes; the model itself must fit, of course.
    ///
    /// Each thread's history gets its share of a third of what is left now: growing buffers may
    /// hold two copies for a moment, and what a history has sent waits elsewhere.
    ///
    /// # Errors
    ///
    /// If this process uses as much already.
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

    /// Threads that will have something to do on a rank.
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
