//! How a directory spreads over the servers as it grows, and how many servers are involved in the
//! removal of a small one.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::Deserialize;

use crate::tally::Tally;

/// Arguments of the suite; `tests/with-futago` names the cluster file and the program.
#[derive(Args)]
pub struct Widening {
    /// How many entries the directory gets
    #[arg(long, default_value_t = 100_000)]
    entries: usize,
    /// A mount of the cluster
    directory: PathBuf,
}

/// How many entries a small directory has.
const FEW: usize = 10;
/// How many threads create entries.
const THREADS: usize = 8;
/// Requests that a client or this suite makes for itself. A client returns the leases of nodes that
/// it has dropped from its cache with every keep-alive.
const NOT_COUNTED: [&str; 4] = ["get_status", "keep_alive", "give_back", "end_session"];

/// The output of `futago status --json`.
#[derive(Deserialize)]
struct Status {
    servers: Vec<Server>,
    path: Option<Placed>,
}

#[derive(Deserialize)]
struct Server {
    server: u16,
    counters: Counters,
}

#[derive(Deserialize)]
struct Counters {
    requests: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Placed {
    size: usize,
    servers: Vec<u16>,
    buckets: Vec<Bucket>,
}

#[derive(Deserialize)]
struct Bucket {
    entries: usize,
}

/// How many messages of each sort every server got.
type Messages = BTreeMap<u16, BTreeMap<String, u64>>;

impl Widening {
    /// Checks a directory while it is small, and when it is large, and removes a small one; each is
    /// a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        let cases = [
            ("few entries", self.narrow()),
            ("many entries", self.wide()),
            ("small removed", self.remove_small()),
        ];
        let report = |(name, verdict): (&str, anyhow::Result<String>)| {
            match &verdict {
                Ok(seen) => println!("{name:<16} {seen}"),
                Err(error) => println!("{name:<16} FAILED: {error:#}"),
            }
            Tally::of(verdict.is_ok())
        };
        Ok(cases.into_iter().map(report).sum())
    }

    fn narrow(&self) -> anyhow::Result<String> {
        let place = self.directory.join("wide");
        fs::create_dir(&place).with_context(|| format!("cannot create {}", place.display()))?;
        create(&place, (0..FEW).collect())?;
        let (_, placed) = placed("/wide")?;
        ensure!(
            placed.buckets.len() == 1 && placed.servers.len() == 1,
            "{}",
            placed.describe()
        );
        Ok(placed.describe())
    }

    fn wide(&self) -> anyhow::Result<String> {
        let place = &self.directory.join("wide");
        let before = messages()?;
        let results: Vec<_> = thread::scope(|scope| {
            let parts = (0..THREADS).map(|thread| (FEW + thread..self.entries).step_by(THREADS));
            let threads: Vec<_> = parts
                .map(|numbers| scope.spawn(|| create(place, numbers.collect())))
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended
                .map(|result| result.unwrap_or_else(|_| Err(anyhow!("it panicked"))))
                .collect()
        });
        results.into_iter().collect::<anyhow::Result<()>>()?;
        let (servers, placed) = placed("/wide")?;
        let counted: usize = placed.buckets.iter().map(|bucket| bucket.entries).sum();
        ensure!(
            placed.servers.len() == servers && placed.buckets.len() == servers,
            "of {servers} servers: {}",
            placed.describe()
        );
        ensure!(
            placed.size == self.entries && counted == self.entries,
            "of {} entries: {}",
            self.entries,
            placed.describe()
        );
        let asked = since(&before, &messages()?);
        ensure!(
            asked.len() == servers,
            "of {servers} servers only these were asked: {asked:?}"
        );
        Ok(placed.describe())
    }

    /// The directory lies deep enough to be on the server of its parent. The kernel starts at the
    /// parent, so that no path is walked.
    fn remove_small(&self) -> anyhow::Result<String> {
        let above = self.directory.join("a/b/c");
        let small = above.join("small");
        fs::create_dir_all(&small).with_context(|| format!("cannot create {}", small.display()))?;
        let above = File::open(&above).context("cannot open the directory above")?;
        let before = messages()?;
        unlinkat(&above, "small", UnlinkatFlags::RemoveDir).context("cannot remove")?;
        let sent = since(&before, &messages()?);
        ensure!(sent.len() == 1, "messages went to these: {sent:?}");
        Ok(format!("messages to one server only: {sent:?}"))
    }
}

impl Placed {
    fn describe(&self) -> String {
        format!(
            "{} entries in {} buckets on {} servers",
            self.size,
            self.buckets.len(),
            self.servers.len()
        )
    }
}

fn create(place: &Path, numbers: Vec<usize>) -> anyhow::Result<()> {
    for number in numbers {
        let path = place.join(format!("entry-{number}"));
        File::create_new(&path).with_context(|| format!("cannot create {}", path.display()))?;
    }
    Ok(())
}

/// How many servers there are, and where a directory is.
fn placed(path: &str) -> anyhow::Result<(usize, Placed)> {
    let status = status(&["--path", path])?;
    let placed = status.path.context("the status tells of no path")?;
    Ok((status.servers.len(), placed))
}

/// The requests of every server since it started. Files are closed after the closing call has
/// returned, so this polls until nothing changes any more.
fn messages() -> anyhow::Result<Messages> {
    let mut before = look()?;
    loop {
        let now = look()?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
}

fn look() -> anyhow::Result<Messages> {
    let servers = status(&[])?.servers.into_iter();
    let counted = servers.map(|server| {
        let mut requests = server.counters.requests;
        requests.retain(|kind, _| !NOT_COUNTED.contains(&kind.as_str()));
        (server.server, requests)
    });
    Ok(counted.collect())
}

/// The requests since then, without servers that received none.
fn since(before: &Messages, now: &Messages) -> Messages {
    let count = |messages: &Messages, server: &u16, kind: &str| {
        let counts = messages.get(server);
        counts.and_then(|of| of.get(kind)).copied().unwrap_or(0)
    };
    let mut since = now.clone();
    for (server, requests) in &mut since {
        for (kind, number) in requests.iter_mut() {
            *number -= count(before, server, kind);
        }
        requests.retain(|_, number| *number > 0);
    }
    since.retain(|_, requests| !requests.is_empty());
    since
}

fn status(arguments: &[&str]) -> anyhow::Result<Status> {
    let program = env::var_os("FUTAGO").context("$FUTAGO is not set")?;
    let output = Command::new(&program)
        .args(["status", "--json"])
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(
        output.status.success(),
        "the status ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the status is not as expected")
}
