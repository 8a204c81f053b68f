//! Which operation a client performs next.

use super::data::ClientPhase;
use super::names::NameWork;
use super::operation::{Operation, Work};
use super::trace::TraceWork;
use crate::world::scene::{Scene, Stage};
use crate::world::{Activity, Amount, Arrivals, Mix, OperationKind, Phase, Place};
use futago_base::{FileId, NameHash};
use futago_des::RandomStream;
use futago_lab::workload::IoPhase;
use serde::Serialize;

/// The numbers from the first up to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Numbers {
    first: u64,
    end: u64,
}

/// The numbers of the names that a client has in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    files: Numbers,
    directories: Numbers,
}

/// Where a client is in its workload.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Workload {
    /// The round that it is in, and when that began.
    pub round: u32,
    pub began_ns: u64,
    /// Operations of the round that have begun.
    begun: u64,
    /// When the next operation arrives, or has arrived, if operations do.
    pub arrival_ns: u64,
    /// The file that the phase is about.
    pub file: Option<FileId>,
    /// Transfers that have been written before the phase.
    filled: u64,
    /// It has nothing more to do in this round.
    pub finished: bool,
    /// Its own directory.
    pub own: Option<FileId>,
    /// The names in the place of the present phase.
    pub names: Names,
}

impl Workload {
    pub const fn new(names: Names) -> Self {
        Self {
            round: 0,
            began_ns: 0,
            begun: 0,
            arrival_ns: 0,
            file: None,
            filled: 0,
            finished: true,
            own: None,
            names,
        }
    }

    /// Begins a round.
    pub const fn begin(&mut self, round: u32, now_ns: u64) {
        self.round = round;
        self.began_ns = now_ns;
        self.begun = 0;
        self.finished = false;
        if matches!(Stage::of(round), Stage::Prepare) {
            self.file = None;
            self.filled = 0;
        }
    }

    /// How operations arrive, if they do in this round.
    pub fn arrivals(&self, scene: &Scene) -> Option<Arrivals> {
        let performs = Stage::of(self.round) == Stage::Perform;
        let phase = scene.phase_of(self.round).filter(|_| performs)?;
        phase.arrivals
    }

    /// When the first operation of the round begins.
    pub fn first_ns(&mut self, scene: &Scene, client: u32, random: &mut RandomStream) -> u64 {
        if let Some(think_ns) = self.recorded_think_ns(scene, client) {
            return self.began_ns.saturating_add(think_ns);
        }
        let Some(arrivals) = self.arrivals(scene) else {
            return self.began_ns;
        };
        let first_ns = arrivals.first_ns(client, scene.client_count(), random);
        self.arrival_ns = self.began_ns.saturating_add(first_ns);
        self.arrived_by_the_end(scene)
    }

    /// When the next operation begins if one has ended now and its client thinks as phases say.
    pub fn next_ns(
        &mut self,
        scene: &Scene,
        client: u32,
        now_ns: u64,
        random: &mut RandomStream,
    ) -> u64 {
        if let Some(think_ns) = self.recorded_think_ns(scene, client) {
            return now_ns.saturating_add(think_ns);
        }
        if let Some(arrivals) = self.arrivals(scene) {
            self.arrive(arrivals, scene, random);
            return self.arrived_by_the_end(scene).max(now_ns);
        }
        let performs = Stage::of(self.round) == Stage::Perform;
        let phase = scene.phase_of(self.round).filter(|_| performs);
        let think_ns = phase.map_or(0, |phase| phase.think.draw(random));
        now_ns.saturating_add(think_ns)
    }

    /// How long the client thinks before its next step if it performs a trace.
    fn recorded_think_ns(&self, scene: &Scene, client: u32) -> Option<u64> {
        let performs = Stage::of(self.round) == Stage::Perform;
        let phase = scene.phase_of(self.round).filter(|_| performs)?;
        let Activity::Trace(trace) = &phase.activity else {
            return None;
        };
        trace.think_ns(client, self.begun)
    }

    /// A client that waits for an arrival beyond the end of the phase waits for that end.
    fn arrived_by_the_end(&self, scene: &Scene) -> u64 {
        let window = scene.window(self.round, self.began_ns);
        window.map_or(self.arrival_ns, |window| {
            self.arrival_ns.min(window.until_ns)
        })
    }

    fn arrive(&mut self, arrivals: Arrivals, scene: &Scene, random: &mut RandomStream) {
        let gap_ns = arrivals.gap_ns(scene.client_count(), random);
        self.arrival_ns = self.arrival_ns.saturating_add(gap_ns);
    }

    /// Operations that have arrived and will not begin, as the phase is over: when each arrived.
    pub fn left(&mut self, scene: &Scene, random: &mut RandomStream) -> Vec<u64> {
        let window = scene.window(self.round, self.began_ns);
        let (Some(arrivals), Some(window)) = (self.arrivals(scene), window) else {
            return Vec::new();
        };
        let mut left = Vec::new();
        while window.until_ns < u64::MAX && self.arrival_ns < window.until_ns {
            left.push(self.arrival_ns);
            self.arrive(arrivals, scene, random);
        }
        left
    }

    /// The next operation; `None` if there is no more in this round.
    pub fn next(
        &mut self,
        scene: &Scene,
        client: u32,
        now_ns: u64,
        random: &mut RandomStream,
    ) -> Option<Operation> {
        let phase = scene.phase_of(self.round)?;
        self.begun += 1;
        let index = self.begun - 1;
        let directory = self.directory(scene, phase.place);
        match Stage::of(self.round) {
            Stage::Prepare => self.prepare(scene, client, phase, directory, index),
            Stage::Find if index > 0 => None,
            Stage::Find => match phase.activity {
                Activity::Names(_) | Activity::Trace(_) => directory.map(Operation::Ask),
                Activity::Data(data) => Some(Operation::FindFile(phase.place, data)),
            },
            Stage::Perform if !self.goes_on(scene, phase, index, now_ns) => None,
            Stage::Perform => {
                let work = match &phase.activity {
                    Activity::Names(mix) => self.names.next(mix, phase.place, directory?, random),
                    Activity::Data(data) => {
                        let of = ClientPhase {
                            client,
                            clients: scene.client_count(),
                            number: self.phase(),
                        };
                        Work::Data(data.transfer_in(of, self.file?, index))
                    }
                    Activity::Trace(trace) => {
                        let work = TraceWork::of(trace, self.phase(), false, client, index);
                        return work.map(Operation::Trace);
                    }
                };
                Some(Operation::Work(work))
            }
        }
    }

    fn goes_on(&self, scene: &Scene, phase: &Phase, index: u64, now_ns: u64) -> bool {
        match phase.amount {
            Amount::Operations(count) => index < count,
            Amount::Duration { .. } => scene
                .window(self.round, self.began_ns)
                .is_some_and(|window| now_ns < window.until_ns),
        }
    }

    /// Prepares the phase: the client's own directory, then its share of the common files, the file
    /// of its data with the data to read, or the initial files of a trace. A preparation that fails
    /// twice is left out.
    fn prepare(
        &mut self,
        scene: &Scene,
        client: u32,
        phase: &Phase,
        directory: Option<FileId>,
        index: u64,
    ) -> Option<Operation> {
        let Some(directory) = directory else {
            return (index < 2).then_some(Operation::MakeOwn);
        };
        let filled = self.filled;
        match &phase.activity {
            Activity::Names(mix) => {
                self.filled += 1;
                let file = mix.common_file(client, scene.client_count(), filled)?;
                let work = NameWork::make_common(phase.place, directory, file, mix.file_bytes);
                Some(Operation::Work(Work::Names(work)))
            }
            Activity::Data(data) if data.is_common() && client > 0 => None,
            Activity::Data(data) => {
                let Some(file) = self.file else {
                    return (index < 4).then_some(Operation::MakeFile(directory, *data));
                };
                self.filled += 1;
                let more = data.fill && filled < data.workload.transfer_count();
                let transfer = || data.transfer(IoPhase::Write, client, file, filled);
                more.then(|| Operation::Work(Work::Data(transfer())))
            }
            Activity::Trace(trace) => {
                self.filled += 1;
                let work = TraceWork::of(trace, self.phase(), true, client, filled);
                work.map(Operation::Trace)
            }
        }
    }

    /// The number of the phase.
    const fn phase(&self) -> u32 {
        Stage::phase_of(self.round)
    }

    /// The directory of a place, if it is there by now.
    pub fn directory(&self, scene: &Scene, place: Place) -> Option<FileId> {
        match place {
            Place::Own => self.own,
            Place::Root => Some(FileId::ROOT),
            Place::Shared(index) => scene.planted.get(index).map(|planted| planted.id),
        }
    }
}

impl Mix {
    /// The common file that a client of so many makes when it has made `made` of them.
    pub fn common_file(&self, client: u32, clients: u32, made: u64) -> Option<u64> {
        let number = u64::from(client) + made * u64::from(clients);
        (number < self.common).then_some(number)
    }
}

impl Names {
    /// Those of a client with so many directories.
    pub fn with_directories(count: u64) -> Self {
        Self {
            directories: Numbers::below(count),
            ..Self::default()
        }
    }

    /// The next operation of a mix in a place, whose directory this is, and whose names these are.
    /// It counts as done from now on.
    pub fn next(
        &mut self,
        mix: &Mix,
        place: Place,
        directory: FileId,
        random: &mut RandomStream,
    ) -> Work {
        let files = if mix.common > 0 {
            Numbers::below(mix.common)
        } else {
            self.files
        };
        let kind = self.possible(drawn_kind(&mix.operations, random), files);
        let common = mix.common > 0 && kind.chooses();
        let mut chosen = |from: Numbers| from.first + mix.popularity.draw(from.count(), random);
        let (number, new_number) = match kind {
            OperationKind::Stat
            | OperationKind::Lookup
            | OperationKind::OpenClose
            | OperationKind::ReadFile => (chosen(files), 0),
            OperationKind::Link => (chosen(files), self.files.add()),
            OperationKind::Exchange => {
                let one = chosen(files);
                let last = files.end - 1;
                let other = chosen(Numbers { end: last, ..files });
                (one, other + u64::from(other >= one))
            }
            kind => self.take(kind, random),
        };
        Work::Names(NameWork {
            kind,
            place,
            directory,
            number,
            new_number,
            common,
            file_bytes: mix.file_bytes,
        })
    }

    /// The kind of operation, or the one that makes what it needs; `files` are those that it may be
    /// about.
    const fn possible(&self, kind: OperationKind, files: Numbers) -> OperationKind {
        let (own, any) = (self.files.count(), files.count());
        match kind {
            OperationKind::Stat
            | OperationKind::Lookup
            | OperationKind::OpenClose
            | OperationKind::ReadFile
            | OperationKind::Link
                if any == 0 =>
            {
                OperationKind::Create
            }
            OperationKind::Exchange if any < 2 => OperationKind::Create,
            OperationKind::Unlink | OperationKind::Rename if own == 0 => OperationKind::Create,
            OperationKind::RemoveDirectory if self.directories.count() == 0 => {
                OperationKind::MakeDirectory
            }
            kind => kind,
        }
    }

    /// The subject of an operation without a choice; it counts as used from now on.
    fn take(&mut self, kind: OperationKind, random: &mut RandomStream) -> (u64, u64) {
        match kind {
            OperationKind::Create => (self.files.add(), 0),
            OperationKind::MakeDirectory => (self.directories.add(), 0),
            OperationKind::Unlink => (self.files.remove(), 0),
            OperationKind::RemoveDirectory => (self.directories.remove(), 0),
            OperationKind::Rename => (self.files.remove(), self.files.add()),
            OperationKind::ReadDirectory => {
                let span = (1 << 63) - 1 - NameHash::FIRST;
                (NameHash::FIRST + random.below(span), 0)
            }
            // They are not about names, or choose.
            _ => (0, 0),
        }
    }
}

impl Numbers {
    const fn below(end: u64) -> Self {
        Self { first: 0, end }
    }

    const fn count(self) -> u64 {
        self.end - self.first
    }

    const fn add(&mut self) -> u64 {
        self.end += 1;
        self.end - 1
    }

    const fn remove(&mut self) -> u64 {
        self.first += 1;
        self.first - 1
    }
}

fn drawn_kind(mix: &[(OperationKind, u32)], random: &mut RandomStream) -> OperationKind {
    if let [(kind, _)] = *mix {
        return kind;
    }
    let total: u64 = mix.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let mut drawn = random.below(total);
    for &(kind, weight) in mix {
        if drawn < u64::from(weight) {
            return kind;
        }
        drawn -= u64::from(weight);
    }
    OperationKind::Create
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Popularity;
    use futago_des::ProcessId;

    const DRAWS: usize = 100_000;

    /// How often each of twenty files is looked at.
    fn frequencies(popularity: Popularity) -> [u32; 20] {
        let mix = Mix {
            operations: vec![(OperationKind::Stat, 1)],
            common: 20,
            popularity,
            file_bytes: 0,
        };
        let mut random = RandomStream::new(1, ProcessId(0));
        let mut counts = [0; 20];
        for _ in 0..DRAWS {
            let directory = FileId::ROOT;
            let next = Names::default().next(&mix, Place::Root, directory, &mut random);
            let Work::Names(work) = next else {
                panic!("{next:?}")
            };
            counts[work.number as usize] += 1;
        }
        counts
    }

    /// Each count is within five standard deviations of what the formula says.
    #[test]
    fn files_are_as_popular_as_the_formula_says() {
        for exponent in [0.5, 1.0, 1.1, 2.5] {
            let weight = |rank: usize| ((rank + 1) as f64).powf(-exponent);
            let all: f64 = (0..20).map(weight).sum();
            let counts = frequencies(Popularity::Zipf(exponent));
            for (rank, count) in counts.into_iter().enumerate() {
                let share = weight(rank) / all;
                let expected = DRAWS as f64 * share;
                let deviation = (expected * (1.0 - share)).sqrt();
                let off = (f64::from(count) - expected).abs() / deviation;
                assert!(off < 5.0, "{exponent}, {rank}: {count}, not {expected}");
            }
        }
    }

    #[test]
    fn without_a_preference_all_files_are_as_popular() {
        let expected = DRAWS as f64 / 20.0;
        for count in frequencies(Popularity::Uniform) {
            let off = (f64::from(count) - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "{count}");
        }
    }

    #[test]
    fn a_file_is_never_exchanged_with_itself() {
        let mix = Mix {
            operations: vec![(OperationKind::Exchange, 1)],
            common: 3,
            popularity: Popularity::Zipf(1.0),
            file_bytes: 0,
        };
        let mut random = RandomStream::new(1, ProcessId(0));
        for _ in 0..1000 {
            let directory = FileId::ROOT;
            let next = Names::default().next(&mix, Place::Root, directory, &mut random);
            let Work::Names(work) = next else {
                panic!("{next:?}")
            };
            assert!(work.number != work.new_number, "{work:?}");
            assert!(work.number.max(work.new_number) < 3, "{work:?}");
        }
    }
}
