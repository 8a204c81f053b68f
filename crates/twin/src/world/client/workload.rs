//! Which operation a client performs next.

use super::operation::{Operation, Work};
use crate::world::scene::Scene;
use crate::world::{Amount, OperationKind, Phase, Place};
use futago_base::{FileId, NameHash};
use futago_des::RandomStream;
use serde::Serialize;

/// The names that a client has in one place: those from the first number up to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    files: (u64, u64),
    directories: (u64, u64),
}

/// Where a client is in its workload.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Workload {
    /// The round that it is in, and when that began.
    pub round: u32,
    pub began_ns: u64,
    /// Operations of the round that have begun.
    begun: u64,
    /// It has nothing more to do in this round.
    pub finished: bool,
    /// Its own directory.
    pub own: Option<FileId>,
    /// The names in the place of the present phase.
    pub names: Names,
}

impl Workload {
    pub const fn new() -> Self {
        Self {
            round: 0,
            began_ns: 0,
            begun: 0,
            finished: true,
            own: None,
            names: Names {
                files: (0, 0),
                directories: (0, 0),
            },
        }
    }

    /// Begins a round.
    pub const fn begin(&mut self, round: u32, now_ns: u64) {
        self.round = round;
        self.began_ns = now_ns;
        self.begun = 0;
        self.finished = false;
    }

    /// The next operation; `None` if there is no more in this round.
    pub fn next(
        &mut self,
        scene: &Scene,
        now_ns: u64,
        random: &mut RandomStream,
    ) -> Option<Operation> {
        let phase = scene.phase_of(self.round)?;
        if self.round.is_multiple_of(2) {
            return self.prepare(scene, phase);
        }
        let goes_on = match phase.amount {
            Amount::Operations(count) => self.begun < count,
            Amount::Duration { .. } => scene
                .window(self.round, self.began_ns)
                .is_some_and(|window| now_ns < window.until_ns),
        };
        if !goes_on {
            return None;
        }
        self.begun += 1;
        let directory = self.directory(scene, phase.place)?;
        Some(Operation::Work(self.names.next(phase, directory, random)))
    }

    /// What a client does once before a phase.
    fn prepare(&mut self, scene: &Scene, phase: &Phase) -> Option<Operation> {
        self.begun += 1;
        match phase.place {
            _ if self.begun > 1 => None,
            Place::Own if self.own.is_none() => Some(Operation::MakeOwn),
            place => self.directory(scene, place).map(Operation::Ask),
        }
    }

    fn directory(&self, scene: &Scene, place: Place) -> Option<FileId> {
        match place {
            Place::Own => self.own,
            Place::Shared(index) => scene.planted.get(index).map(|planted| planted.id),
        }
    }
}

impl Names {
    /// The next operation of a phase that takes place in this directory, whose names these are. It
    /// counts as done from now on.
    pub fn next(&mut self, phase: &Phase, directory: FileId, random: &mut RandomStream) -> Work {
        let kind = self.possible(drawn_kind(phase, random));
        let (number, new_number) = self.take(kind, random);
        Work {
            kind,
            place: phase.place,
            directory,
            number,
            new_number,
        }
    }

    /// The kind of operation, or the one that makes what it needs.
    const fn possible(&self, kind: OperationKind) -> OperationKind {
        let no_file = self.files.0 == self.files.1;
        let no_directory = self.directories.0 == self.directories.1;
        match kind {
            OperationKind::Stat
            | OperationKind::Lookup
            | OperationKind::Unlink
            | OperationKind::Rename
                if no_file =>
            {
                OperationKind::Create
            }
            OperationKind::RemoveDirectory if no_directory => OperationKind::MakeDirectory,
            kind => kind,
        }
    }

    /// What an operation is about; it counts as done from now on.
    fn take(&mut self, kind: OperationKind, random: &mut RandomStream) -> (u64, u64) {
        match kind {
            OperationKind::Create => (added(&mut self.files), 0),
            OperationKind::MakeDirectory => (added(&mut self.directories), 0),
            OperationKind::Unlink => (removed(&mut self.files), 0),
            OperationKind::RemoveDirectory => (removed(&mut self.directories), 0),
            OperationKind::Rename => (removed(&mut self.files), added(&mut self.files)),
            OperationKind::Stat | OperationKind::Lookup => {
                let (first, end) = self.files;
                (first + random.below(end - first), 0)
            }
            OperationKind::ReadDirectory => {
                let span = (1 << 63) - 1 - NameHash::FIRST;
                (NameHash::FIRST + random.below(span), 0)
            }
        }
    }
}

const fn added(numbers: &mut (u64, u64)) -> u64 {
    numbers.1 += 1;
    numbers.1 - 1
}

const fn removed(numbers: &mut (u64, u64)) -> u64 {
    numbers.0 += 1;
    numbers.0 - 1
}

fn drawn_kind(phase: &Phase, random: &mut RandomStream) -> OperationKind {
    if let [(kind, _)] = phase.mix[..] {
        return kind;
    }
    let total: u64 = phase.mix.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let mut drawn = random.below(total);
    for &(kind, weight) in &phase.mix {
        if drawn < u64::from(weight) {
            return kind;
        }
        drawn -= u64::from(weight);
    }
    OperationKind::Create
}
