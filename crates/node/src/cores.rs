//! CPU cores: binding of threads.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{fmt::Display, io};

/// The cores that the calling thread may use; empty if the system does not report them.
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

/// Binds the calling thread to a core. A failure is ignored.
pub fn bind(core: usize) {
    let _ = sched_setaffinity(None, &only(core));
}

fn failed(what: &str, why: impl Display) -> io::Error {
    io::Error::other(format!("{what}: {why}"))
}

/// Binds this thread, and the processes and threads that it starts, to one core until it is
/// dropped.
#[derive(Debug)]
pub struct OnOneCore(CpuSet);

impl OnOneCore {
    /// Binds to one of the cores that this thread may use, counted from 0 and wrapping around.
    ///
    /// # Errors
    /// The system does not report the cores, or forbids the binding.
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
        // The previous cores are allowed.
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
