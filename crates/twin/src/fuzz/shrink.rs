//! Makes a failing scenario small.

use super::{Checked, Failure, Scenario, run};
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
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        if candidate != *scenario {
            all.push(candidate);
        }
    };
    for burst in (0..scenario.bursts.len()).rev() {
        add(&|s| {
            s.bursts.remove(burst);
        });
    }
    for (burst, scripts) in scenario
        .bursts
        .iter()
        .map(|burst| &burst.scripts)
        .enumerate()
    {
        add(&|s| s.bursts[burst].faults = Faults::default());
        add(&|s| s.bursts[burst].faults.lost_permille = 0);
        add(&|s| s.bursts[burst].faults.doubled_permille = 0);
        add(&|s| s.bursts[burst].faults.late_permille = 0);
        add(&|s| s.bursts[burst].faults.partitions.clear());
        add(&|s| s.bursts[burst].faults.pauses.clear());
        add(&|s| s.bursts[burst].death = None);
        add(&|s| s.bursts[burst].stop = None);
        add(&|s| s.bursts[burst].clock_steps.clear());
        add(&|s| s.bursts[burst].idle = Duration(0));
        for script in 0..scripts.len() {
            add(&|s| s.bursts[burst].scripts[script].clear());
        }
        for (script, steps) in scripts.iter().enumerate() {
            for step in 0..steps.len() {
                add(&|s| {
                    s.bursts[burst].scripts[script].remove(step);
                });
            }
        }
    }
    add(&|s| s.admission = AdmissionConfig::default());
    add(&|s| s.memory_bytes = Scenario::MEMORY_UNLIMITED);
    let bursts = scenario.bursts.iter();
    let stopped = bursts.clone().filter_map(|burst| Some(burst.stop?.server));
    let stepped = bursts.flat_map(|burst| &burst.clock_steps);
    let stepped = stepped.filter_map(|step| match step.party {
        Party::Server(server) => Some(server),
        Party::Client(_) => None,
    });
    let named = stopped.chain(stepped);
    let least = named.map(|server| server.0 + 1).max().unwrap_or(1);
    add(&|s| s.servers = (s.servers - 1).max(least));
    all
}
