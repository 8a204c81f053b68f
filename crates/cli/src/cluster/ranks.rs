//! Server processes that mpirun or srun starts: how they find each other without MPI.
//!
//! Every rank writes its host into a directory beside the cluster file, which all hosts see. Rank 0
//! waits for all of them, makes the cluster file, and then says for which ranks it is. Files of an
//! earlier run have other marks, so that no rank takes them for those of its own.

use anyhow::{Context, bail};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// Variables with the rank and the number of ranks: MPICH and its like, Open MPI, Slurm.
const VARIABLES: [(&str, &str); 3] = [
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// The time between two looks into the directory, which may be on a slow file system.
const POLL: Duration = Duration::from_millis(50);

/// The file that says for which ranks the cluster file is.
const FORMED: &str = "formed";

/// One of the processes that a launcher has started together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number.
    pub number: u32,
    /// How many there are.
    pub count: u32,
}

impl Rank {
    /// The rank that the launcher has given to this process.
    ///
    /// # Errors
    /// If no launcher that is known has started it.
    pub fn of_this_process() -> anyhow::Result<Self> {
        let number = |name| env::var(name).ok()?.parse::<u32>().ok();
        let found = VARIABLES.iter().find_map(|(rank, count)| {
            let (number, count) = (number(rank)?, number(count)?);
            (number < count).then_some(Self { number, count })
        });
        found.context(
            "neither mpirun nor srun has started this process: it has no rank (PMI_RANK, \
             OMPI_COMM_WORLD_RANK or SLURM_PROCID)",
        )
    }
}

/// The meeting of the ranks of one run.
pub struct Meeting {
    directory: PathBuf,
    rank: Rank,
    /// The host, and a mark that no other process has.
    entry: String,
    until: Instant,
}

impl Meeting {
    /// The meeting beside a cluster file.
    ///
    /// # Errors
    /// If the host has no name that is text.
    pub fn beside(cluster: &Path, rank: Rank, timeout: Duration) -> anyhow::Result<Self> {
        let host = host()?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mark = since.unwrap_or_default().as_nanos();
        let mut directory = cluster.as_os_str().to_owned();
        directory.push(".ranks");
        Ok(Self {
            directory: directory.into(),
            rank,
            entry: format!("{host} {}-{mark}", std::process::id()),
            until: Instant::now() + timeout,
        })
    }

    /// Has rank 0 make the cluster file from the hosts of all ranks, in their order, and the others
    /// wait for it.
    ///
    /// # Errors
    /// If a rank does not come in time, with the numbers of those that are missing; and the errors
    /// of `form`.
    pub fn hold(&self, form: impl FnOnce(&[String]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        if self.rank.number != 0 {
            return self.wait_for_cluster();
        }
        self.begin()?;
        let entries = self.wait_for_ranks()?;
        let hosts = entries.iter().filter_map(|entry| entry.split(' ').next());
        form(&hosts.map(str::to_owned).collect::<Vec<_>>())?;
        self.put(FORMED, &entries.join("\n"))
    }

    /// Removes the directory. Rank 0 does, when the cluster ends.
    pub fn end(&self) {
        // It may be gone, and an error harms nobody: the next run makes it anew.
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// Ranks that came early may write into the directory of an earlier run while it is removed.
    fn begin(&self) -> anyhow::Result<()> {
        let made = loop {
            match fs::remove_dir_all(&self.directory).map_err(|error| error.kind()) {
                Ok(()) | Err(io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {}
                Err(kind) => break Err(kind.into()),
            }
            match fs::create_dir(&self.directory) {
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && Instant::now() < self.until => {}
                made => break made,
            }
        };
        made.with_context(|| format!("making {}", self.directory.display()))
    }

    fn wait_for_ranks(&self) -> anyhow::Result<Vec<String>> {
        self.put("0", &self.entry)?;
        loop {
            let entries = (0..self.rank.count).map(|rank| (rank, self.read(&rank.to_string())));
            let (here, absent): (Vec<_>, Vec<_>) = entries.partition(|(_, entry)| entry.is_some());
            if absent.is_empty() {
                return Ok(here.into_iter().filter_map(|(_, entry)| entry).collect());
            }
            if Instant::now() > self.until {
                let missing: Vec<_> = absent.iter().map(|(rank, _)| rank.to_string()).collect();
                let (count, place) = (self.rank.count, self.directory.display());
                bail!(
                    "of {count} ranks, these did not come to {place}: {}",
                    missing.join(", ")
                );
            }
            thread::sleep(POLL);
        }
    }

    /// Rank 0 may remove what this rank has written, as long as the run begins.
    fn wait_for_cluster(&self) -> anyhow::Result<()> {
        let own = self.rank.number.to_string();
        while Instant::now() < self.until {
            if self
                .read(FORMED)
                .is_some_and(|all| all.lines().any(|entry| entry == self.entry))
            {
                return Ok(());
            }
            if self.directory.is_dir() && self.read(&own).as_ref() != Some(&self.entry) {
                // The directory may go meanwhile; the next look tells.
                let _ = self.put(&own, &self.entry);
            }
            thread::sleep(POLL);
        }
        bail!(
            "rank 0 has not made the cluster file in time, beside {}",
            self.directory.display()
        );
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(name)).ok()
    }

    fn put(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.directory.join(name);
        let written = tempfile::NamedTempFile::new_in(&self.directory).and_then(|mut file| {
            io::Write::write_all(&mut file, text.as_bytes())?;
            Ok(file.persist(&path)?)
        });
        written
            .map(drop)
            .with_context(|| format!("writing {}", path.display()))
    }
}

/// The name of this host; in a job of Slurm that of the node.
fn host() -> anyhow::Result<String> {
    if let Ok(node) = env::var("SLURMD_NODENAME") {
        return Ok(node);
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname");
    Ok(host.context("the name of this host")?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn meeting(cluster: &Path, number: u32, count: u32) -> Meeting {
        Meeting::beside(cluster, Rank { number, count }, TIMEOUT).unwrap()
    }

    #[test]
    fn all_ranks_see_the_cluster_that_rank_0_makes() {
        let scratch = tempfile::tempdir().unwrap();
        let cluster = scratch.path().join("c.toml");
        // An earlier run of the same ranks has left everything.
        let stale = meeting(&cluster, 0, 1);
        stale.hold(|_| Ok(())).unwrap();
        let formed = Mutex::new(0);
        thread::scope(|scope| {
            for number in [2, 1, 0] {
                let (cluster, formed) = (&cluster, &formed);
                scope.spawn(move || {
                    let held = meeting(cluster, number, 3).hold(|hosts| {
                        *formed.lock().unwrap() = hosts.len();
                        Ok(())
                    });
                    held.unwrap();
                    assert_eq!(*formed.lock().unwrap(), 3, "rank {number} was too early");
                });
            }
        });
        stale.end();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    /// Removing a directory fails if a file comes into it meanwhile.
    #[test]
    fn ranks_may_write_while_rank_0_removes_an_earlier_run() {
        let scratch = tempfile::tempdir().unwrap();
        let cluster = scratch.path().join("c.toml");
        meeting(&cluster, 0, 1).hold(|_| Ok(())).unwrap();
        thread::scope(|scope| {
            let early = meeting(&cluster, 1, 2);
            let writing = scope.spawn(move || {
                for number in 0..5_000 {
                    // The directory may not be there.
                    let _ = early.put(&number.to_string(), "");
                }
            });
            while !writing.is_finished() {
                meeting(&cluster, 0, 2).begin().unwrap();
            }
        });
    }

    #[test]
    fn ranks_that_do_not_come_are_named() {
        let scratch = tempfile::tempdir().unwrap();
        let cluster = scratch.path().join("c.toml");
        let rank = Rank {
            number: 0,
            count: 3,
        };
        let meeting = Meeting::beside(&cluster, rank, Duration::ZERO).unwrap();
        let error = meeting.hold(|_| Ok(())).unwrap_err().to_string();
        assert!(error.ends_with(": 1, 2"), "{error}");
    }
}
