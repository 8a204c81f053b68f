//! The resources of the cluster's processes, and whether they grow.

use anyhow::{Context, ensure};
use std::fs;

/// The most growth of a process, in KiB of resident memory.
const MEMORY_KIB_MAX: u64 = 32 << 10;
/// The most growth of a process in descriptors: a mount starts its other threads, and their
/// connections, when it has work for them.
const DESCRIPTORS_MAX: usize = 12;

/// The resources of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    process: u32,
    memory_kib: u64,
    descriptors: usize,
}

/// The resources of each process of the cluster at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample(Vec<Taken>);

impl Sample {
    /// Samples the processes, which must be alive.
    ///
    /// # Errors
    /// A process has ended.
    pub fn take(processes: &[u32]) -> anyhow::Result<Self> {
        let taken = processes.iter().map(|&process| {
            let ended = || format!("process {process} has ended");
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            let descriptors = fs::read_dir(format!("/proc/{process}/fd"));
            Ok(Taken {
                process,
                memory_kib: resident_kib(&status.with_context(ended)?).with_context(ended)?,
                descriptors: descriptors.with_context(ended)?.count(),
            })
        });
        Ok(Self(taken.collect::<anyhow::Result<_>>()?))
    }

    /// The sample as one line.
    pub fn describe(&self) -> String {
        let each = self.0.iter().map(|taken| {
            format!(
                "{:.1} MiB, {} descriptors",
                taken.memory_kib as f64 / 1024.0,
                taken.descriptors
            )
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// Checks that no process has grown by more than the limits.
    ///
    /// # Errors
    /// A process has grown.
    pub fn ensure_not_grown_since(&self, before: &Self) -> anyhow::Result<()> {
        for (now, then) in self.0.iter().zip(&before.0) {
            let grown = now.memory_kib > then.memory_kib + MEMORY_KIB_MAX
                || now.descriptors > then.descriptors + DESCRIPTORS_MAX;
            ensure!(
                !grown,
                "process {} has grown: {then:?}, {now:?}",
                now.process
            );
        }
        Ok(())
    }
}

fn resident_kib(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Sample, Taken};

    fn sample(memory_kib: u64, descriptors: usize) -> Sample {
        Sample(vec![Taken {
            process: 1,
            memory_kib,
            descriptors,
        }])
    }

    #[test]
    fn growth_beyond_the_limits_is_reported() {
        let before = sample(10_000, 20);
        assert!(sample(42_000, 32).ensure_not_grown_since(&before).is_ok());
        assert!(sample(43_000, 20).ensure_not_grown_since(&before).is_err());
        assert!(sample(10_000, 33).ensure_not_grown_since(&before).is_err());
    }

    #[test]
    fn this_process_takes_something() -> anyhow::Result<()> {
        let Sample(taken) = Sample::take(&[std::process::id()])?;
        assert!(taken[0].memory_kib > 0 && taken[0].descriptors > 0);
        Ok(())
    }
}
