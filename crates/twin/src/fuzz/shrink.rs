//! Makes a failing scenario small.

use super::{Burst, Checked, Failure, Scenario, run};
use crate::cluster::{Faults, Party};
use futago_base::Duration;
use futago_driver::AdmissionConfig;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a scenario; a panic is a failure like others.
pub fn try_run(scenario: &Scenario) -> Result<Checked, Failure> {
    catch_unwind(AssertUnwindSafe(|| run(scenario))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Failure {
            kind: super::FailureKind::Panic,
            text: text.unwrap_or_default(),
        })
    })
}

/// Takes away what is not needed to fail in the same manner, with at most `runs` tries.
pub fn shrink(scenario: &Scenario, failure: &Failure, runs: usize) -> (Scenario, Failure) {
    let (mut best, mut why) = (scenario.clone(), failure.clone());
    let mut left = runs;
    loop {
        let smaller = candidates(&best).into_iter().find_map(|candidate| {
            left = left.checked_sub(1)?;
            let failure = try_run(&candidate).err()?;
            (failure.kind == why.kind).then_some((candidate, failure))
        });
        match smaller {
            Some(smaller) => (best, why) = smaller,
            None => return (best, why),
        }
    }
}

/// Scenarios that are a little smaller, the smallest first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut candidates = Candidates {
        scenario,
        all: Vec::new(),
    };
    let bursts = 0..scenario.bursts.len();
    for burst in bursts.clone().rev() {
        candidates.add(|s| {
            s.bursts.remove(burst);
        });
    }
    for burst in bursts {
        candidates.add_fewer_faults(burst);
        candidates.add_fewer_steps(burst);
    }
    candidates.add(|s| s.contacts.fill(None));
    candidates.add(|s| s.disks = None);
    candidates.add(|s| s.admission = AdmissionConfig::default());
    candidates.add(|s| s.memory_bytes = Scenario::MEMORY_UNLIMITED);
    let least = servers_min(scenario);
    candidates.add(|s| s.servers = (s.servers - 1).max(least));
    candidates.all
}

/// The candidates so far, in the place of a scenario.
struct Candidates<'a> {
    scenario: &'a Scenario,
    all: Vec<Scenario>,
}

impl Candidates<'_> {
    /// Adds the scenario with a change, if that changes anything.
    fn add(&mut self, change: impl FnOnce(&mut Scenario)) {
        let mut candidate = self.scenario.clone();
        change(&mut candidate);
        if candidate != *self.scenario {
            self.all.push(candidate);
        }
    }

    fn add_fewer_faults(&mut self, burst: usize) {
        let changes: [fn(&mut Burst); 12] = [
            |burst| burst.faults = Faults::default(),
            |burst| burst.faults.lost_permille = 0,
            |burst| burst.faults.doubled_permille = 0,
            |burst| burst.faults.late_permille = 0,
            |burst| burst.faults.partitions.clear(),
            |burst| burst.faults.pauses.clear(),
            |burst| burst.death = None,
            |burst| burst.stop = None,
            |burst| burst.stop.iter_mut().for_each(|stop| stop.again = None),
            |burst| burst.clock_steps.clear(),
            |burst| burst.absences.clear(),
            |burst| burst.idle = Duration(0),
        ];
        for change in changes {
            self.add(|s| change(&mut s.bursts[burst]));
        }
    }

    fn add_fewer_steps(&mut self, burst: usize) {
        let scripts = &self.scenario.bursts[burst].scripts;
        for script in 0..scripts.len() {
            self.add(|s| s.bursts[burst].scripts[script].clear());
        }
        for (script, steps) in scripts.iter().enumerate() {
            for step in 0..steps.len() {
                self.add(|s| {
                    s.bursts[burst].scripts[script].remove(step);
                });
            }
        }
    }
}

/// The least number of servers that has all servers that stop or whose clocks step.
fn servers_min(scenario: &Scenario) -> u16 {
    let bursts = scenario.bursts.iter();
    let stopped = bursts.clone().filter_map(|burst| Some(burst.stop?.server));
    let absent = bursts.clone().flat_map(|burst| &burst.absences);
    let absent = absent.map(|absence| absence.server);
    let stepped = bursts.flat_map(|burst| &burst.clock_steps);
    let stepped = stepped.filter_map(|step| match step.party {
        Party::Server(server) => Some(server),
        Party::Client(_) => None,
    });
    let named = stopped.chain(absent).chain(stepped);
    named.map(|server| server.0 + 1).max().unwrap_or(1)
}
