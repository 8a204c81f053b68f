//! Watches what an attack does to others: the processes, and a user of the mount.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};

/// The growth of a server under attack that is allowed.
const GROWTH_MIB_AT_MOST: u64 = 256;
/// How long a user of the mount may wait for one file's life.
const LIFE_MAX: Duration = Duration::from_secs(10);

/// The processes of a cluster.
pub struct Processes(Vec<(u32, u64)>);

impl Processes {
    /// The processes that run `program` and name a file of the cluster file's directory on their
    /// command line.
    pub fn of(cluster: &Path, program: &Path) -> anyhow::Result<Self> {
        let program = program.canonicalize()?;
        let place = cluster
            .parent()
            .context("a cluster file without a directory")?;
        let wanted = place.as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Ok(id) = entry?.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            let runs = fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe == program);
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            if runs && line.windows(wanted.len()).any(|part| part == wanted) {
                found.extend(memory_mib(id).map(|memory| (id, memory)));
            }
        }
        ensure!(
            !found.is_empty(),
            "no process belongs to {}",
            cluster.display()
        );
        Ok(Self(found))
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.0.len()
    }

    /// All must still live, and not have grown much.
    pub fn check(&self) -> anyhow::Result<()> {
        for (id, before) in &self.0 {
            let Some(now) = memory_mib(*id) else {
                bail!("process {id} has ended")
            };
            ensure!(
                now <= before + GROWTH_MIB_AT_MOST,
                "process {id} has grown from {before} to {now} MiB"
            );
        }
        Ok(())
    }
}

fn memory_mib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

/// Makes, reads, renames and removes a file on the mount over and over.
pub struct Canary {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<(u64, Duration)>>,
}

impl Canary {
    /// Begins.
    pub fn start(directory: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, directory) = (Arc::clone(&stop), directory.to_owned());
        let thread = thread::spawn(move || {
            let (mut lives, mut longest) = (0, Duration::ZERO);
            while lives == 0 || !stopped.load(Ordering::Relaxed) {
                let started = Instant::now();
                live(&directory, lives)?;
                lives += 1;
                longest = longest.max(started.elapsed());
            }
            Ok((lives, longest))
        });
        Self { stop, thread }
    }

    /// Ends, and says how it went.
    pub fn stop(self) -> anyhow::Result<String> {
        self.stop.store(true, Ordering::Relaxed);
        let result = self
            .thread
            .join()
            .map_err(|_| anyhow!("the canary panicked"))?;
        let (lives, longest) = result.context("somebody else's work on the mount failed")?;
        ensure!(
            longest < LIFE_MAX,
            "somebody else on the mount had to wait {longest:?}"
        );
        Ok(format!(
            "{lives} files lived, the longest {:.0} ms",
            longest.as_secs_f64() * 1e3
        ))
    }
}

fn live(directory: &Path, number: u64) -> anyhow::Result<()> {
    let paths: [PathBuf; 2] = ["canary", "canary-again"].map(|name| directory.join(name));
    let content = number.to_le_bytes().repeat(500);
    fs::File::create_new(&paths[0])?.write_all(&content)?;
    fs::rename(&paths[0], &paths[1])?;
    ensure!(
        fs::read(&paths[1])? == content,
        "the canary's file has other content"
    );
    fs::remove_file(&paths[1])?;
    Ok(())
}
