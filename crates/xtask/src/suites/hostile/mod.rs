//! Hostile bytes against the servers of a mounted Futago, and against clients that share their
//! caches. After each attack the servers must be the same processes with bounded memory, and the
//! mount must have worked all the time.

mod attack;
mod proxy;
mod socket;
mod watch;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, anyhow, ensure};
use clap::Args;

use crate::tally::Tally;
use socket::Address;
use watch::{Canary, Processes};

/// Arguments of the suite; `tests/with-futago` names the cluster file and the program.
#[derive(Args)]
pub struct Hostile {
    /// Draws the hostile bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many connections stay open without a word
    #[arg(long, default_value_t = 10_000)]
    idle: usize,
    /// A mount of the cluster
    directory: PathBuf,
}

/// The target of the attacks.
struct Target {
    program: PathBuf,
    /// The cluster file.
    file: PathBuf,
    text: String,
    /// Of the servers, and then of the clients that share their caches.
    addresses: Vec<Address>,
    /// The bytes that a rightful client has sent to each server.
    recorded: Vec<Vec<u8>>,
    seed: u64,
    idle: usize,
    /// For changed cluster files and sockets.
    place: tempfile::TempDir,
}

type Attack = (&'static str, fn(&Target) -> anyhow::Result<String>);

const ATTACKS: &[Attack] = &[
    ("random bytes", attack::random),
    ("truncated", attack::truncated),
    ("damaged bits", attack::damaged),
    ("oversized", attack::oversized),
    ("replayed", attack::replayed),
    ("wrong key", attack::wrong_key),
    ("between the two", attack::between),
    ("slow senders", attack::slow),
    ("idle", attack::idle),
];

impl Hostile {
    /// Runs each attack; each is a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        attack::allow_many_files()?;
        let target = Target::new(self)?;
        let processes = Processes::of(&target.file, &target.program)?;
        println!(
            "{} processes, {} servers and clients that listen",
            processes.number(),
            target.addresses.len()
        );
        let run = |(name, attack): &Attack| {
            let verdict = strike(&target, &self.directory, &processes, *attack);
            match &verdict {
                Ok(done) => println!("{name:<16} {done}"),
                Err(error) => println!("{name:<16} FAILED: {error:#}"),
            }
            Tally::of(verdict.is_ok())
        };
        Ok(ATTACKS.iter().map(run).sum())
    }
}

fn strike(
    target: &Target,
    directory: &Path,
    processes: &Processes,
    attack: fn(&Target) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let canary = Canary::start(directory);
    let attacked = attack(target);
    let sung = canary.stop()?;
    processes.check()?;
    Ok(format!("{}; beside it {sung}", attacked?))
}

impl Target {
    fn new(arguments: &Hostile) -> anyhow::Result<Self> {
        let variable = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .with_context(|| format!("${name} is not set"))
        };
        let file = variable("FUTAGO_CLUSTER")?;
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let program = variable("FUTAGO")?;
        let mut addresses = addresses(&text)?;
        addresses.extend(addresses_of_clients(&program, &file)?);
        let mut target = Self {
            program,
            addresses,
            recorded: Vec::new(),
            file,
            text,
            seed: arguments.seed,
            idle: arguments.idle,
            place: tempfile::tempdir()?,
        };
        target.recorded = proxy::record(&target)?;
        let heard = target
            .recorded
            .iter()
            .filter(|bytes| !bytes.is_empty())
            .count();
        ensure!(heard > 0, "the program sent nothing to any server");
        Ok(target)
    }

    /// Writes a changed cluster file, readable by its owner alone as it must be.
    fn write_cluster(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.place.path().join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok(path)
    }

    /// Lists the root directory with the program itself and a (changed) cluster file.
    fn list_with(&self, cluster: &Path) -> anyhow::Result<Output> {
        // However much is damaged, the program must come to an end.
        Command::new("timeout")
            .arg("120")
            .arg(&self.program)
            .args(["ls", "--cluster"])
            .arg(cluster)
            .arg("/")
            .output()
            .context("cannot run the program")
    }
}

/// The addresses of the clients that share their caches.
fn addresses_of_clients(program: &Path, cluster: &Path) -> anyhow::Result<Vec<Address>> {
    let mut status = Command::new(program);
    status.args(["status", "--clients", "--json", "--cluster"]);
    let output = status.arg(cluster).output().context("cannot run futago")?;
    let status: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("futago status prints no JSON")?;
    let clients = status["clients"].as_array().cloned().unwrap_or_default();
    let address =
        |client: &serde_json::Value| Address::parse(client["address"].as_str().unwrap_or_default());
    clients.iter().map(address).collect()
}

fn addresses(text: &str) -> anyhow::Result<Vec<Address>> {
    let table: toml::Table = text.parse().context("the cluster file is not TOML")?;
    let servers = table.get("servers").and_then(toml::Value::as_array);
    let servers = servers.ok_or_else(|| anyhow!("the cluster file has no servers"))?;
    let address = |server: &toml::Value| {
        let text = server.get("address").and_then(toml::Value::as_str);
        Address::parse(text.context("a server without an address")?)
    };
    servers.iter().map(address).collect()
}
