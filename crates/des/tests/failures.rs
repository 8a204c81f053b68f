//! Defects of a model are named, alike by all executors, and only if they really occur.

use futago_des::{
    Context, Error, Executor, Forward, Link, Mode, Model, Process, ProcessId, Saved, Settings,
    Time, Topology, check, run,
};
use serde::{Deserialize, Serialize};

/// The defect of the processes of the model.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
enum Flaw {
    None,
    Panic,
    Loop,
    Lookahead,
    Stranger,
    Undo,
    SecondUndo,
    Speculative,
}

struct Flawed {
    flaw: Flaw,
    lookahead: Time,
}

#[derive(Debug, Serialize)]
struct Worker {
    flaw: Flaw,
    count: u64,
    last: u64,
    /// Whether its last action was an undo.
    #[serde(skip)]
    undone: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Job {
    Tick,
    Late,
}

const STEP: Time = Time::from_ticks(10);

impl Process for Worker {
    type Event = Job;
    type Undo = (u64, u64);
    type Output = ();

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        ctx.schedule(STEP, Job::Tick);
    }

    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Job,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, (u64, u64)> {
        let saved = ctx.save(|| (self.count, self.last));
        let other = ProcessId(1 - ctx.me().0);
        self.count += 1;
        self.undone = false;
        // Process 0 notifies process 1 in time that its next tick is no reason to panic.
        assert!(
            self.flaw != Flaw::Speculative || self.last + 1 >= now.ticks() / 100 || ctx.me().0 == 0,
            "a state that never is"
        );
        self.last = match event {
            Job::Tick => self.last,
            Job::Late => now.ticks() / 100,
        };
        if let Job::Late = event {
            return saved;
        }
        if now.ticks().is_multiple_of(100) && ctx.me().0 == 0 {
            ctx.send(other, Time::from_ticks(5), Job::Late);
        }
        ctx.schedule(STEP, Job::Tick);
        if now.ticks() == 500 && ctx.me().0 == 0 {
            match self.flaw {
                Flaw::Panic => panic!("deliberately"),
                Flaw::Loop => ctx.schedule(Time::ZERO, Job::Tick),
                Flaw::Lookahead => ctx.send(other, Time::from_ticks(2), Job::Late),
                Flaw::Stranger => ctx.send(ProcessId(7), STEP, Job::Late),
                Flaw::None | Flaw::Undo | Flaw::SecondUndo | Flaw::Speculative => {}
            }
        }
        saved
    }

    fn undo(&mut self, (count, last): (u64, u64)) {
        let forgets = match self.flaw {
            Flaw::Undo => true,
            Flaw::SecondUndo => self.undone,
            _ => false,
        };
        if !forgets {
            self.count = count;
        }
        self.last = last;
        self.undone = true;
    }
}

impl Model for Flawed {
    type Process = Worker;

    fn process_count(&self) -> u32 {
        2
    }

    fn create(&self, _: ProcessId) -> Worker {
        Worker {
            flaw: self.flaw,
            count: 0,
            last: 0,
            undone: false,
        }
    }

    fn topology(&self) -> Topology {
        let link = |from, to| Link {
            from: ProcessId(from),
            to: ProcessId(to),
            lookahead: self.lookahead,
        };
        Topology::links([link(0, 1), link(1, 0)])
    }

    fn name(&self, id: ProcessId) -> String {
        ["left", "right"][id.index()].into()
    }
}

fn outcome(flaw: Flaw, executor: Executor) -> Result<String, Error> {
    outcome_on(flaw, executor, 2)
}

fn outcome_on(flaw: Flaw, executor: Executor, threads: u32) -> Result<String, Error> {
    let model = Flawed {
        flaw,
        lookahead: Time::from_ticks(5),
    };
    let end = Time::from_ticks(2_000);
    let settings = Settings {
        executor,
        threads,
        end,
        gvt_interval: 10,
        ..Settings::default()
    };
    run(&model, &settings).map(|outcome| outcome.statistics.digest)
}

#[track_caller]
fn assert_error(flaw: Flaw, executors: &[Executor], parts: &[&str]) {
    for &executor in executors {
        let error = outcome(flaw, executor).expect_err("is flawed").to_string();
        for part in parts {
            assert!(error.contains(part), "{executor:?}: {error}");
        }
    }
}

const ALL: [Executor; 3] = [
    Executor::Sequential,
    Executor::Conservative,
    Executor::Optimistic,
];

#[test]
fn a_panic_names_process_and_time() {
    assert_error(
        Flaw::Panic,
        &ALL,
        &["left", "0.000000500 s", "deliberately"],
    );
}

#[test]
fn an_endless_zero_delay_chain_is_named() {
    assert_error(Flaw::Loop, &ALL, &["left", "0.000000500 s", "zero-delay"]);
}

#[test]
fn an_unknown_destination_is_named() {
    assert_error(Flaw::Stranger, &ALL, &["left", "process 7", "only 2"]);
}

#[test]
fn a_broken_lookahead_names_both_processes() {
    let parts = ["left", "right", "0.000000002 s", "0.000000005 s"];
    assert_error(Flaw::Lookahead, &[Executor::Conservative], &parts);
    let expected = outcome(Flaw::Lookahead, Executor::Sequential).expect("needs no lookahead");
    let found = outcome(Flaw::Lookahead, Executor::Optimistic);
    assert_eq!(found.as_ref(), Ok(&expected));
    let in_one_partition = outcome_on(Flaw::Lookahead, Executor::Conservative, 1);
    assert_eq!(in_one_partition, Ok(expected));
}

#[test]
fn a_panic_that_never_happened_is_not_reported() {
    let expected = outcome(Flaw::Speculative, Executor::Sequential).expect("never panics");
    for _ in 0..20 {
        assert_eq!(
            outcome(Flaw::Speculative, Executor::Optimistic).as_ref(),
            Ok(&expected)
        );
    }
}

#[test]
fn a_link_without_lookahead_between_partitions_is_refused() {
    let model = Flawed {
        flaw: Flaw::None,
        lookahead: Time::ZERO,
    };
    let hinted = Settings {
        executor: Executor::Conservative,
        threads: 2,
        placement: futago_des::Placement::Hint,
        end: Time::from_ticks(1_000),
        ..Settings::default()
    };
    let error = run(&model, &hinted).expect_err("is refused");
    let both = Error::ZeroLookahead {
        from: "left".into(),
        to: "right".into(),
    };
    assert_eq!(error, both);
    let together = Settings {
        placement: futago_des::Placement::Block,
        ..hinted
    };
    assert!(
        run(&model, &together).is_ok(),
        "joined processes stay in one partition"
    );
}

#[test]
fn the_checker_names_the_field_that_is_not_restored() {
    let settings = Settings {
        end: Time::from_ticks(2_000),
        ..Settings::default()
    };
    let lookahead = Time::from_ticks(5);
    // The second flaw shows only when a process rolls back by several events.
    for (flaw, process) in [(Flaw::Undo, "left"), (Flaw::SecondUndo, "right")] {
        let broken = check(&Flawed { flaw, lookahead }, &settings).expect_err("is broken");
        let text = broken.to_string();
        for part in [process, "`count`", "Tick", "it was"] {
            assert!(text.contains(part), "{flaw:?}: {text}");
        }
    }
    let sound = check(
        &Flawed {
            flaw: Flaw::None,
            lookahead,
        },
        &settings,
    )
    .expect("is sound");
    assert!(sound.events_rolled_back > 0);
}
