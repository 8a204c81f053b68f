//! A round: all actors at once on a small tree, and their observations afterwards.

use crate::actor::Actor;
use crate::journal::{Doing, Journal};
use futago_base::{FileId, Kind, Name};
use futago_twin::check::{History, Setting, Verdict, backwards, linearize};
use futago_twin::fuzz::{Reach, Step, Work};
use futago_twin::model::{NewKind, Operation, Outcome, Tree};
use futago_twin::random::Random;
use std::fmt::Write;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// The parameters of a round.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of its operations.
    pub seed: u64,
    /// The number of steps of each actor.
    pub steps: usize,
}

/// The names that every actor knows at the start of a round, and whether they are directories.
const PREPARED: [(&str, bool); 4] = [("a", false), ("b", true), ("c", false), ("d", true)];

/// Runs all actors. Returns their operations in the order of their starts, and the number of
/// operations that were not recorded.
pub fn run(
    actors: &mut [Box<dyn Actor>],
    doing: &[Doing],
    plan: Plan,
    clock: Instant,
) -> (History, u64) {
    let journal = |(number, doing): (usize, &Doing)| Journal::new(clock, number, doing.clone());
    let mut journals: Vec<_> = doing.iter().enumerate().map(journal).collect();
    prepare(actors, &mut journals, plan);
    let start = Barrier::new(actors.len());
    thread::scope(|scope| {
        for (number, (actor, journal)) in actors.iter_mut().zip(&mut journals).enumerate() {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                work(&mut **actor, journal, plan, number);
            });
        }
    });
    let first = place(plan.seed, actors.len());
    for walker in [first, (first + actors.len() / 2) % actors.len()] {
        walk(&mut *actors[walker], &mut journals[walker], FileId::ROOT, 0);
    }
    gathered(journals)
}

/// The index of the actor that is the first of `count` in this round.
fn place(seed: u64, count: usize) -> usize {
    usize::try_from(seed % count.max(1) as u64).unwrap_or(0)
}

fn gathered(journals: Vec<Journal>) -> (History, u64) {
    let (mut history, mut unrecorded) = (History::new(), 0);
    for journal in journals {
        let (records, more) = journal.into_records();
        history.extend(records);
        unrecorded += more;
    }
    history.sort_by_key(|record| record.called);
    (history, unrecorded)
}

/// One actor creates a few files and directories, and all actors look them up.
fn prepare(actors: &mut [Box<dyn Actor>], journals: &mut [Journal], plan: Plan) {
    let maker = place(plan.seed, actors.len());
    let directory = FileId::ROOT;
    for (name, is_directory) in PREPARED {
        let Ok(name) = Name::new(name) else { continue };
        let operation = if is_directory {
            Operation::MakeDirectory {
                directory,
                name,
                mode: 0o755,
            }
        } else {
            Operation::Create {
                directory,
                name,
                kind: NewKind::File(0),
                mode: 0o644,
                exclusive: true,
                open: false,
                tag: 0,
            }
        };
        actors[maker].perform(&operation, &mut journals[maker]);
    }
    for (actor, journal) in actors.iter_mut().zip(journals) {
        for name in PREPARED
            .iter()
            .filter_map(|(name, _)| Name::new(*name).ok())
        {
            actor.perform(&Operation::Lookup { directory, name }, journal);
        }
    }
}

/// Every other round is about data rather than about names, and in half of these most actors read.
/// One in eight reaches beyond first chunks. Its operations consist of parts, so it is short,
/// because the number of possible orders explodes.
fn work(actor: &mut dyn Actor, journal: &mut Journal, plan: Plan, number: usize) {
    let mut random = Random::new(plan.seed, number as u64);
    let wide = plan.seed % 8 == 7;
    let work = match plan.seed % 4 {
        1 => Work::Data,
        3 if number.is_multiple_of(3) => Work::Data,
        3 => Work::Reading,
        _ => Work::Names,
    };
    let (steps, reach) = match wide {
        true => (plan.steps / 2, Reach::Wide),
        false => (plan.steps, Reach::Near),
    };
    for _ in 0..steps {
        let step = Step::draw(&mut random, false, work, reach);
        if let Some(operation) = step.operation(actor.known()) {
            actor.perform(&operation, journal);
        }
    }
}

/// A tree deeper than operations can create is a loop.
const DEPTH_MAX: usize = 64;

/// Reads the whole tree.
fn walk(actor: &mut dyn Actor, journal: &mut Journal, directory: FileId, depth: usize) {
    actor.perform(&Operation::Attributes(directory), journal);
    let page = 100;
    let listing = actor.perform(&Operation::ReadDirectory { directory, page }, journal);
    let Some(Ok(Outcome::Listing(entries))) = listing else {
        return;
    };
    for listed in entries {
        let (id, name) = (listed.entry.id, listed.name);
        actor.perform(&Operation::Lookup { directory, name }, journal);
        if listed.entry.kind == Kind::Directory {
            if depth < DEPTH_MAX {
                walk(actor, journal, id, depth + 1);
            }
            continue;
        }
        actor.perform(&Operation::Attributes(id), journal);
        let content = match listed.entry.kind {
            Kind::File => Operation::Read {
                id,
                offset: 0,
                length: 1 << 16,
            },
            Kind::Symlink => Operation::ReadLink(id),
            _ => continue,
        };
        actor.perform(&content, journal);
    }
}

/// Whether an order of the operations explains the observations, if the tree was `before` at the
/// start.
pub fn judge(history: &History, before: &Tree, setting: Setting) -> Verdict {
    if let Some(text) = backwards(history, |_, _| true) {
        return Verdict::Unexplained(format!("a time runs backwards:\n{text}"));
    }
    linearize(history, before, None, setting)
}

/// A history, one operation per line.
pub fn describe(history: &History) -> String {
    history.iter().fold(String::new(), |mut text, record| {
        let (called, end) = (record.called.0 / 1000, record.end().0 / 1000);
        let (actor, operation) = (record.client, &record.operation);
        let observed = record.returned.as_ref().map(|(_, observed)| observed);
        let _ = writeln!(
            text,
            "{called:>12}..{end:<12} {actor} {operation:?} -> {}",
            short(observed)
        );
        text
    })
}

/// An observation without long data.
fn short(observed: Option<&Result<Outcome, futago_base::Errno>>) -> String {
    match observed {
        Some(Ok(Outcome::Bytes(bytes))) => {
            let runs = futago_twin::model::Content::of_bytes(0, bytes);
            format!("{} bytes {:?}", bytes.len(), runs.runs())
        }
        Some(observed) => format!("{observed:?}"),
        None => String::from("nothing"),
    }
}
