//! One directory with very many entries: created, listed and removed through several mounts at
//! once.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use clap::Args;

use crate::tally::Tally;

/// Arguments of the suite.
#[derive(Args)]
pub struct Entries {
    /// How many entries the directory gets, over all mounts
    #[arg(long, default_value_t = 1_000_000)]
    entries: usize,
    /// How many threads create and remove through each mount
    #[arg(long, default_value = "4")]
    threads: NonZeroUsize,
    /// Mounts of the same file system (or paths of one directory)
    #[arg(required = true)]
    directories: Vec<PathBuf>,
}

impl Entries {
    /// Creates, lists and removes; each is a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        let places: Vec<_> = self
            .directories
            .iter()
            .map(|each| each.join("entries"))
            .collect();
        fs::create_dir(&places[0])
            .with_context(|| format!("cannot create {}", places[0].display()))?;
        let phases = [
            self.phase("create", &places, |mount, place| self.create(mount, place)),
            self.phase("list", &places, |_, place| list(place, self.entries)),
            self.phase("remove", &places, |mount, place| self.remove(mount, place)),
            self.phase("list again", &places, |_, place| list(place, 0)),
        ];
        fs::remove_dir(&places[0]).context("the directory cannot be removed")?;
        Ok(phases.into_iter().sum())
    }

    /// Runs the work through all mounts at the same time.
    fn phase<W>(&self, name: &str, places: &[PathBuf], work: W) -> Tally
    where
        W: Fn(usize, &Path) -> anyhow::Result<()> + Sync,
    {
        let started = Instant::now();
        let results: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let begin = |(mount, place)| scope.spawn(move || work(mount, place));
            let threads: Vec<_> = places
                .iter()
                .map(PathBuf::as_path)
                .enumerate()
                .map(begin)
                .collect();
            threads.into_iter().map(joined).collect()
        });
        let seconds = started.elapsed().as_secs_f64();
        println!("{name:<12} {:>9} entries {seconds:>8.1} s", self.entries);
        for (mount, failure) in results
            .iter()
            .enumerate()
            .filter_map(|(mount, result)| result.as_ref().err().map(|failure| (mount, failure)))
        {
            println!("  FAILED through directory {mount}: {failure:#}");
        }
        Tally::of(results.iter().all(Result::is_ok))
    }

    /// Each mount creates the names whose number leaves its own remainder.
    fn create(&self, mount: usize, place: &Path) -> anyhow::Result<()> {
        self.share_out(mount, |number| {
            let path = place.join(name_of(number));
            File::create_new(&path).with_context(|| format!("cannot create {}", path.display()))?;
            Ok(())
        })
    }

    /// Each mount removes what the next one has created.
    fn remove(&self, mount: usize, place: &Path) -> anyhow::Result<()> {
        let other = (mount + 1) % self.directories.len();
        self.share_out(other, |number| {
            let path = place.join(name_of(number));
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
        })
    }

    /// Shares the numbers that leave this remainder out to threads.
    fn share_out<W>(&self, remainder: usize, work: W) -> anyhow::Result<()>
    where
        W: Fn(usize) -> anyhow::Result<()> + Sync,
    {
        let (mounts, threads) = (self.directories.len(), self.threads.get());
        thread::scope(|scope| {
            let work = &work;
            let begin = |thread| {
                let first = remainder + thread * mounts;
                let mut numbers = (first..self.entries).step_by(mounts * threads);
                scope.spawn(move || numbers.try_for_each(work))
            };
            let threads: Vec<_> = (0..threads).map(begin).collect();
            let ended = threads.into_iter().map(joined);
            ended.fold(Ok(()), Result::and)
        })
    }
}

/// The result of a thread.
fn joined(thread: ScopedJoinHandle<'_, anyhow::Result<()>>) -> anyhow::Result<()> {
    let ended = thread.join();
    ended.unwrap_or_else(|_| Err(anyhow!("it panicked")))
}

fn name_of(number: usize) -> String {
    format!("entry-{number}")
}

/// Every name must be there exactly once.
fn list(place: &Path, entries: usize) -> anyhow::Result<()> {
    let mut seen = vec![false; entries];
    for entry in fs::read_dir(place).context("cannot list")? {
        let name = entry.context("cannot list on")?.file_name();
        let name = name.to_string_lossy();
        let number = name
            .strip_prefix("entry-")
            .and_then(|number| number.parse::<usize>().ok());
        let slot = number.and_then(|number| seen.get_mut(number));
        let slot = slot.with_context(|| format!("'{name}' was never created, or is removed"))?;
        ensure!(!*slot, "'{name}' is listed twice");
        *slot = true;
    }
    let missing = seen.iter().filter(|seen| !**seen).count();
    ensure!(
        missing == 0,
        "{missing} of {entries} entries are not listed"
    );
    Ok(())
}
