//! A single Time Warp partition, for which a test chooses the order of arrivals.

use serde::{Deserialize, Serialize};

use super::{Post, TimeWarp, quiet};
use crate::event::{Event, EventKey, Head, ProcessId};
use crate::executor::Job;
use crate::fault::FailedEvent;
use crate::placement::{PartitionMap, Placement};
use crate::{Context, Forward, Mode, Model, Process, Saved, Settings, Time, Topology};

/// Panics at the event that it has scheduled for itself, unless a warning arrives before.
#[derive(Debug, Serialize)]
struct Walker {
    warned: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Happening {
    Warning,
    Trap,
}

const TRAP: Time = Time::from_ticks(100);

impl Process for Walker {
    type Event = Happening;
    type Undo = bool;
    type Output = ();

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        ctx.schedule(TRAP, Happening::Trap);
    }

    fn handle<M: Mode>(
        &mut self,
        _: Time,
        event: &Happening,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, bool> {
        let saved = ctx.save(|| self.warned);
        match event {
            Happening::Warning => self.warned = true,
            Happening::Trap => assert!(self.warned, "no warning came"),
        }
        saved
    }

    fn undo(&mut self, warned: bool) {
        self.warned = warned;
    }
}

struct Walk;

impl Model for Walk {
    type Process = Walker;

    fn process_count(&self) -> u32 {
        1
    }

    fn create(&self, _: ProcessId) -> Walker {
        Walker { warned: false }
    }

    fn topology(&self) -> Topology {
        Topology::Complete {
            lookahead: Time::ZERO,
        }
    }
}

/// Runs into the trap; then a warning arrives for an earlier time, or does not. Returns the result
/// of committing everything, and the number of rolled back events.
fn walk(is_warned: bool) -> (Result<(), FailedEvent>, u64) {
    quiet::install();
    let (settings, topology) = (Settings::default(), Walk.topology());
    let job = Job {
        model: &Walk,
        settings: &settings,
        topology: &topology,
    };
    let partition_map = PartitionMap::new(&Walk, &topology, Placement::Block, 1);
    let mut post = Post::new(&partition_map, 0);
    let mut partition = job.partition(partition_map.members(0));
    partition.start(&mut post).expect("starts");
    let mut warp = TimeWarp::new(partition);
    assert!(warp.execute_next(|_| true, &mut post), "the trap");
    if is_warned {
        let key = EventKey::new(Time::from_ticks(50), 0, ProcessId(0), 7);
        warp.insert(Event {
            head: Head::new(key, 0),
            payload: Happening::Warning,
        });
    }
    while warp.execute_next(|_| true, &mut post) {}
    let committed = warp.commit_before(EventKey::MAX, 0);
    (committed, warp.partition().tally.events_rolled_back)
}

#[test]
fn a_panic_of_an_event_that_is_taken_back_is_forgotten() {
    let (committed, rolled_back) = walk(true);
    assert!(committed.is_ok());
    assert_eq!(rolled_back, 1);
}

#[test]
fn a_panic_of_an_event_that_commits_is_reported() {
    let (committed, rolled_back) = walk(false);
    let error = committed.expect_err("panicked").into_error(&Walk);
    let text = error.to_string();
    assert_eq!(rolled_back, 0);
    for part in ["process 0", "0.000000100 s", "no warning came"] {
        assert!(text.contains(part), "{text}");
    }
}
