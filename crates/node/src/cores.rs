//! Cores: on which of them something runs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{fmt::Display, io};

/// The cores that the calling thread may use; none if the system does not tell.
#[must_use]
pub fn allowed() -> Vec<usize> {
    sched_getaffinity(None).map_or_else(|_| Vec::new(), |allowed| numbers(&allowed))
}

fn numbers(cores: &CpuSet) -> Vec<usize> {
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|&core| cores.is_set(core)).collect()
}

fn only(core: usize) -> CpuSet {
    let mut one = CpuSet::new();
    one.set(core);
    one
}

/// Has the calling thread stay on a core. Who may not be bound stays where it is.
pub fn bind(core: usize) {
    let _ = sched_setaffinity(None, &only(core));
}

fn failed(what: &str, why: impl Display) -> io::Error {
    io::Error::other(format!("{what}: {why}"))
}

/// This thread, and the processes and threads that it starts, stay on one core while this lives.
#[derive(Debug)]
pub struct OnOneCore(CpuSet);

impl OnOneCore {
    /// Takes one of the cores that this thread may use, counted from 0 and around.
    ///
    /// # Errors
    /// When the system does not tell the cores, or does not let the thread be bound.
    pub fn bind(number: usize) -> io::Result<Self> {
        let before =
            sched_getaffinity(None).map_err(|error| failed("asking for the cores", error))?;
        let cores = numbers(&before);
        let core = cores.get(number % cores.len().max(1));
        let core = *core.ok_or_else(|| failed("binding", "there is no core to bind to"))?;
        let refused = |error| failed(&format!("binding to core {core}"), error);
        sched_setaffinity(None, &only(core)).map_err(refused)?;
        Ok(Self(before))
    }
}

impl Drop for OnOneCore {
    fn drop(&mut self) {
        // What was allowed before is allowed.
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_bound_uses_one_core_and_then_all_again() {
        let before = allowed();
        for number in [0, 1, before.len(), before.len() + 1] {
            let bound = OnOneCore::bind(number).unwrap();
            assert_eq!(allowed(), [before[number % before.len()]]);
            drop(bound);
            assert_eq!(allowed(), before);
        }
    }
}
