//! Measures the cost of an undo: PHOLD-like processes that save nothing, or 256 bytes, for every
//! event.
//!
//!     undo_cost empty|full sequential|conservative|optimistic END_S
//!
//! prints the number of committed events. `measure-undo.sh` counts the instructions.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

use std::process::ExitCode;

use futago_des::random::{Distribution, Exponential};
use futago_des::{
    Context, Error, Executor, Forward, Mode, Model, Process, ProcessId, Saved, Settings, Time,
    Topology, run,
};
use serde::Serialize;

const PROCESSES: u32 = 1024;
const LOOKAHEAD: Time = Time::from_ticks(100_000_000);

/// 256 bytes of state, and an undo of the same size if `U` is this type.
type Page = [u64; 32];

#[derive(Serialize)]
struct Cell<U> {
    page: Page,
    #[serde(skip)]
    save: fn(&Page) -> U,
    #[serde(skip)]
    restore: fn(&mut Page, U),
}

impl<U: Send + 'static> Cell<U> {
    fn send<M: Mode>(&self, ctx: &mut Context<'_, Self, M>) {
        let beyond = Exponential::with_mean(9e8).sample(ctx.random()) as u64;
        let to = ProcessId(ctx.random().below(u64::from(PROCESSES)) as u32);
        ctx.send(to, LOOKAHEAD.saturating_add(Time::from_ticks(beyond)), ());
    }
}

impl<U: Send + 'static> Process for Cell<U> {
    type Event = ();
    type Undo = U;
    type Output = ();

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        self.send(ctx);
    }

    fn handle<M: Mode>(
        &mut self,
        now: Time,
        (): &(),
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, U> {
        let saved = ctx.save(|| (self.save)(&self.page));
        self.page[(now.ticks() % 32) as usize] += 1;
        self.send(ctx);
        saved
    }

    fn undo(&mut self, undo: U) {
        (self.restore)(&mut self.page, undo);
    }
}

struct Cells<U> {
    save: fn(&Page) -> U,
    restore: fn(&mut Page, U),
}

impl<U: Send + 'static> Model for Cells<U> {
    type Process = Cell<U>;

    fn process_count(&self) -> u32 {
        PROCESSES
    }

    fn create(&self, _: ProcessId) -> Cell<U> {
        Cell {
            page: [0; 32],
            save: self.save,
            restore: self.restore,
        }
    }

    fn topology(&self) -> Topology {
        Topology::Complete {
            lookahead: LOOKAHEAD,
        }
    }
}

/// One partition never rolls back, so an empty undo is good enough.
fn count_events<U: Send + 'static>(model: &Cells<U>, settings: &Settings) -> Result<u64, Error> {
    run(model, settings).map(|outcome| outcome.statistics.events_committed)
}

fn measure(undo: &str, executor: &str, end_s: &str) -> Option<Result<u64, Error>> {
    let settings = Settings {
        executor: match executor {
            "sequential" => Executor::Sequential,
            "conservative" => Executor::Conservative,
            "optimistic" => Executor::Optimistic,
            _ => return None,
        },
        end: Time::from_seconds(end_s.parse().ok()?),
        ..Settings::default()
    };
    let (empty, full) = (
        Cells {
            save: |_| (),
            restore: |_, ()| (),
        },
        Cells {
            save: |page| *page,
            restore: |page, saved| *page = saved,
        },
    );
    match undo {
        "empty" => Some(count_events(&empty, &settings)),
        "full" => Some(count_events(&full, &settings)),
        _ => None,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [undo, executor, end_s] => measure(undo, executor, end_s),
        _ => None,
    };
    match outcome {
        Some(Ok(events)) => {
            println!("{events}");
            return ExitCode::SUCCESS;
        }
        Some(Err(error)) => eprintln!("undo_cost: {error}"),
        None => eprintln!("usage: undo_cost empty|full sequential|conservative|optimistic END_S"),
    }
    ExitCode::FAILURE
}
