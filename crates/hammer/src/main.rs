//! `futago-hammer`, which `tests/with-futago` runs after it has started the cluster and the mounts.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

use anyhow::{Context, ensure};
use clap::Parser;
use futago_base::Space;
use futago_hammer::actor::Actor;
use futago_hammer::cluster::Site;
use futago_hammer::growth::Sample;
use futago_hammer::journal::Doing;
use futago_hammer::library::Library;
use futago_hammer::mount::Mount;
use futago_hammer::round::{self, Plan};
use futago_hammer::watchdog;
use futago_node::Cluster;
use futago_twin::check::{History, Setting, Verdict};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The rounds after which memory and descriptors are stable.
const WARM_UP_ROUNDS: usize = 50;
/// The most growth of all servers' records without files, in bytes. Sessions have saved replies,
/// recalls of the last second are recorded, and partitions record the last file that they have
/// created.
const RECORDS_BYTES_MAX: u64 = 64 << 10;
/// The failed rounds after which the hammer stops.
const FAILURES_MAX: u64 = 5;

/// Mounts and library clients that hammer the same few files; the reference must explain their
/// observations.
#[derive(Parser)]
struct Arguments {
    /// The seed of the first round; every round has the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For how long new rounds begin
    #[arg(long, default_value_t = 40)]
    seconds: u64,
    /// How many steps each actor takes in a round
    #[arg(long, default_value_t = 24)]
    steps: usize,
    /// How many threads work on each mount
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How many clients of the library work in parallel
    #[arg(long, default_value_t = 2)]
    clients: usize,
    /// Folder for the histories of failed rounds
    #[arg(long, default_value = "target/logs")]
    histories: PathBuf,
    /// The cluster file
    #[arg(long, env = "FUTAGO_CLUSTER")]
    cluster: PathBuf,
    /// The program futago
    #[arg(long, env = "FUTAGO")]
    program: PathBuf,
    /// The processes of the cluster and its mounts
    #[arg(long, env = "FUTAGO_PROCESSES", value_delimiter = ' ')]
    processes: Vec<u32>,
    /// Mounts of the cluster
    #[arg(required = true)]
    mounts: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    undecided: u64,
    operations: u64,
    unrecorded: u64,
}

/// The resources without files: the occupancy of the servers, and the resources of the processes.
struct Rest {
    held: Space,
    sample: Sample,
}

struct Hammer {
    arguments: Arguments,
    site: Site,
    setting: Setting,
    actors: Vec<Box<dyn Actor>>,
    doing: Vec<Doing>,
    clock: Instant,
    tally: Tally,
}

fn main() -> anyhow::Result<ExitCode> {
    // Directories and files get the requested modes.
    rustix::process::umask(rustix::fs::Mode::empty());
    let mut hammer = Hammer::new(Arguments::parse())?;
    if let Err(error) = hammer.run() {
        println!("FAILED: {error:#}");
        hammer.tally.failed += 1;
    }
    let tally = hammer.tally;
    println!(
        "{} operations; {} more of which a kernel may have judged from its own memory",
        tally.operations, tally.unrecorded
    );
    println!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.undecided
    );
    Ok(if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn actors(arguments: &Arguments, cluster: &Cluster) -> anyhow::Result<Vec<Box<dyn Actor>>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for directory in &arguments.mounts {
        for _ in 0..arguments.threads {
            let mount = Mount::new(directory)
                .with_context(|| format!("cannot open {}", directory.display()))?;
            actors.push(Box::new(mount));
        }
    }
    for client in 0..arguments.clients {
        // Every second client works without leases.
        let leases = client % 2 == 0;
        actors.push(Box::new(Library::connect(cluster, leases)?));
    }
    Ok(actors)
}

impl Hammer {
    fn new(arguments: Arguments) -> anyhow::Result<Self> {
        let cluster = Cluster::load(&arguments.cluster)?;
        let (program, file) = (arguments.program.clone(), arguments.cluster.clone());
        let actors = actors(&arguments, &cluster)?;
        Ok(Self {
            site: Site::new(program, file, &cluster)?,
            setting: Setting {
                chunk_bytes: u64::from(cluster.chunk_bytes),
                limited: false,
                kernels: arguments.mounts.len() * arguments.threads,
                grace: futago_base::Duration::from_secs(2),
            },
            doing: actors.iter().map(|_| Doing::default()).collect(),
            actors,
            arguments,
            clock: Instant::now(),
            tally: Tally::default(),
        })
    }

    /// Runs rounds until the time is over, and checks the remaining resources.
    fn run(&mut self) -> anyhow::Result<()> {
        let all = self.doing.iter().cloned().chain([self.site.doing()]);
        watchdog::watch(all.collect());
        for seed in (self.arguments.seed..).take(WARM_UP_ROUNDS) {
            self.round(seed)?;
        }
        let before = self.rest()?;
        for seed in self.arguments.seed + WARM_UP_ROUNDS as u64.. {
            let over = self.clock.elapsed() >= Duration::from_secs(self.arguments.seconds);
            if over || self.tally.failed >= FAILURES_MAX {
                break;
            }
            self.round(seed)?;
        }
        self.compare(&before)?;
        self.site.check_records()
    }

    fn round(&mut self, seed: u64) -> anyhow::Result<()> {
        let steps = self.arguments.steps;
        let plan = Plan { seed, steps };
        let (history, unrecorded) = round::run(&mut self.actors, &self.doing, plan, self.clock);
        self.tally.operations += history.len() as u64;
        self.tally.unrecorded += unrecorded;
        for actor in &mut self.actors {
            actor.rest();
        }
        self.site
            .clean_up()
            .with_context(|| format!("seed {seed}"))?;
        match round::judge(&history, &self.site.tree(), self.setting) {
            Verdict::Explained => self.tally.passed += 1,
            Verdict::Undecided => {
                self.tally.undecided += 1;
                self.write_down(seed, &history, "the search for an order took too long")?;
            }
            Verdict::Unexplained(text) => {
                self.tally.failed += 1;
                self.write_down(seed, &history, &text)?;
            }
        }
        Ok(())
    }

    fn write_down(&self, seed: u64, history: &History, text: &str) -> anyhow::Result<()> {
        let folder = &self.arguments.histories;
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("hammer-{seed}.txt"));
        let all = format!("{text}\n{}", round::describe(history));
        fs::write(&path, all).with_context(|| format!("cannot write {}", path.display()))?;
        println!("seed {seed}, all of it in {}:", path.display());
        for line in text.lines().take(12) {
            println!("    {}", line.chars().take(400).collect::<String>());
        }
        Ok(())
    }

    fn rest(&self) -> anyhow::Result<Rest> {
        Ok(Rest {
            held: self.site.rest()?,
            sample: Sample::take(&self.arguments.processes)?,
        })
    }

    /// Checks that the resources have not grown.
    fn compare(&self, before: &Rest) -> anyhow::Result<()> {
        let now = self.rest()?;
        for (when, rest) in [("after warm-up", before), ("at the end", &now)] {
            let (bytes, taken) = (rest.held.used_bytes, rest.sample.describe());
            println!("{when}: {bytes} bytes of records; {taken}");
        }
        now.sample.ensure_not_grown_since(&before.sample)?;
        ensure!(
            now.held.used_bytes <= before.held.used_bytes + RECORDS_BYTES_MAX,
            "servers without files hold more and more"
        );
        let undecided = self.tally.undecided;
        ensure!(
            undecided <= self.tally.passed / 10,
            "{undecided} rounds are undecided"
        );
        Ok(())
    }
}
