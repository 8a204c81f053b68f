//! The statistics of a run, for people and for programs.

use serde::{Deserialize, Serialize};

use super::memory::peak_resident_bytes;
use crate::event::ProcessId;
use crate::placement::EffectiveLookahead;
use crate::settings::{Executor, Settings};
use crate::{Model, Placement};

/// The statistics of one partition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub events_committed: u64,
    pub events_rolled_back: u64,
    pub stragglers: u64,
    pub cancellations: u64,
    pub events_sent_away: u64,
    pub windows: u64,
    pub gvt_rounds: u64,
    pub agreeing_s: f64,
    pub queue_peak: u64,
    pub history_peak: u64,
    pub digest: u64,
    pub busiest: Vec<(ProcessId, u64, u32)>,
}

/// The configuration of a run.
#[derive(Debug)]
pub(crate) struct RunShape<'a> {
    pub settings: &'a Settings,
    pub ranks: u32,
    pub lookahead: Option<EffectiveLookahead>,
    pub wall_s: f64,
}

/// A process with many events.
#[derive(Clone, Debug, Serialize)]
pub struct HotSpot {
    /// Its name.
    pub process: String,
    /// Committed events.
    pub events_committed: u64,
    /// Undone events.
    pub events_rolled_back: u32,
}

/// The statistics of a run, over all its threads and ranks.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// The executor.
    pub executor: Executor,
    /// Threads per rank.
    pub threads: u32,
    /// Operating-system processes.
    pub ranks: u32,
    /// The placement of processes.
    pub placement: Placement,
    /// The seed.
    pub seed: u64,
    /// The number of processes.
    pub processes: u32,
    /// Committed events.
    pub events_committed: u64,
    /// Executed and undone events; zero except in the optimistic executor.
    pub events_rolled_back: u64,
    /// Committed events as a share of the executed ones.
    pub efficiency: f64,
    /// Committed events per second of wall-clock time.
    pub events_per_s: f64,
    /// Wall-clock time from the first to the last event, without building the model.
    pub wall_s: f64,
    /// The peak memory of this process, on this rank.
    pub peak_rss_bytes: Option<u64>,
    /// A digest of every committed event and the final state of every process.
    pub digest: String,
    /// Events that arrived too late and caused a rollback.
    pub stragglers: u64,
    /// Events that an anti-message cancelled.
    pub cancellations: u64,
    /// Events from one partition to another.
    pub events_between_partitions: u64,
    /// Windows of the conservative executor.
    pub windows: u64,
    /// Computations of the global virtual time.
    pub gvt_rounds: u64,
    /// The share of the time of all threads for these, including waiting.
    pub gvt_share: f64,
    /// The most events that were pending in one partition.
    pub queue_peak: u64,
    /// The most uncertain events in the history of one partition.
    pub history_peak: u64,
    /// The link that limits the conservative executor; `None` if no link joins two partitions.
    pub effective_lookahead: Option<EffectiveLookahead>,
    /// Committed events of every partition.
    pub events_by_partition: Vec<u64>,
    /// The processes with most events.
    pub hot_spots: Vec<HotSpot>,
}

impl Statistics {
    pub(crate) const HOT_SPOTS: usize = 5;

    pub(crate) fn new(model: &impl Model, shape: RunShape<'_>, tallies: &[Tally]) -> Self {
        let sum = |field: fn(&Tally) -> u64| tallies.iter().map(field).sum::<u64>();
        let most = |field: fn(&Tally) -> u64| tallies.iter().map(field).max().unwrap_or(0);
        let committed = sum(|tally| tally.events_committed);
        let rolled_back = sum(|tally| tally.events_rolled_back);
        let digest = tallies
            .iter()
            .fold(0u64, |sum, tally| sum.wrapping_add(tally.digest));
        let agreeing_s: f64 = tallies.iter().map(|tally| tally.agreeing_s).sum();
        let settings = shape.settings;
        Statistics {
            executor: settings.executor,
            threads: settings.threads_in_use(),
            ranks: shape.ranks,
            placement: settings.placement,
            seed: settings.seed,
            processes: model.process_count(),
            events_committed: committed,
            events_rolled_back: rolled_back,
            efficiency: efficiency(committed, rolled_back),
            events_per_s: committed as f64 / shape.wall_s.max(1e-9),
            wall_s: shape.wall_s,
            peak_rss_bytes: peak_resident_bytes(),
            digest: format!("{digest:016x}"),
            stragglers: sum(|tally| tally.stragglers),
            cancellations: sum(|tally| tally.cancellations),
            events_between_partitions: sum(|tally| tally.events_sent_away),
            windows: most(|tally| tally.windows),
            gvt_rounds: most(|tally| tally.gvt_rounds),
            // The time of a run is that of its first thread; others may have begun a moment before.
            gvt_share: (agreeing_s / (shape.wall_s * tallies.len() as f64).max(1e-9)).min(1.0),
            queue_peak: most(|tally| tally.queue_peak),
            history_peak: most(|tally| tally.history_peak),
            effective_lookahead: shape.lookahead,
            events_by_partition: tallies.iter().map(|tally| tally.events_committed).collect(),
            hot_spots: hot_spots(model, tallies),
        }
    }
}

fn hot_spots(model: &impl Model, tallies: &[Tally]) -> Vec<HotSpot> {
    let mut busiest: Vec<_> = tallies
        .iter()
        .flat_map(|tally| tally.busiest.iter())
        .collect();
    busiest.sort_by_key(|(id, committed, _)| (std::cmp::Reverse(*committed), *id));
    busiest
        .into_iter()
        .take(Statistics::HOT_SPOTS)
        .map(|&(id, events_committed, events_rolled_back)| HotSpot {
            process: model.name(id),
            events_committed,
            events_rolled_back,
        })
        .collect()
}

pub(super) fn efficiency(committed: u64, rolled_back: u64) -> f64 {
    match committed + rolled_back {
        0 => 1.0,
        executed => committed as f64 / executed as f64,
    }
}
