//! `futago stage`: copies trees in and out with many clients.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
    transfer::{self, Hosts, PART_BYTES, Plan, Transfer},
};
use anyhow::{Context, ensure};
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use futago_base::Kind;
use futago_node::{Cluster, cores};
use futago_staging::{
    ClusterTree, Contents, Direction, Found, Item, Links, LocalTree, Owner, Present, Rules, Tree,
    Unreachable, Verification, serve,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Arguments of `stage`.
///
/// A copy has permissions, owners (if root copies), times, hard and symbolic links, holes,
/// extended attributes, pipes and devices. Each file gets its name when its data is complete and
/// verified. Repeat the command to continue an interrupted copy, or to copy what has changed.
#[derive(Args)]
pub struct Stage {
    #[command(subcommand)]
    kind: Direct,
}

#[derive(Subcommand)]
enum Direct {
    /// Copy a local directory or file into the cluster.
    In(In),
    /// Copy a directory or file of the cluster to the local file system.
    Out(Out),
    /// Clients of a copy that another host leads.
    #[command(hide = true)]
    Client,
}

#[derive(Args)]
struct In {
    /// A local directory or file.
    source: PathBuf,
    /// Where its copy is in the cluster; a directory is merged with what is there.
    target: RemotePath,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Out {
    /// A directory or file of the cluster.
    source: RemotePath,
    /// Where its copy is; a directory is merged with what is there.
    target: PathBuf,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    cluster: ClusterFile,
    /// How many clients copy, on each host; by default as many as cores, from 2 to 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: Option<u32>,
    /// The hosts of the clients: a file of names, one a line, or a list with commas. All of them
    /// must see the local directory. By default, clients run on this host.
    #[arg(long, value_name = "FILE|LIST")]
    hosts: Option<String>,
    /// How to run a program on another host; by default as `futago up` did.
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    launcher: Option<String>,
    /// Compare the data of files that look unchanged, too.
    #[arg(long)]
    checksum: bool,
    /// Do not read copied data again to compare its checksums.
    #[arg(long)]
    no_verify: bool,
    /// Copy the files of other servers when one does not answer.
    #[arg(long)]
    keep_going: bool,
    /// Files of more bytes are copied in parts of this size, by several clients.
    #[arg(long, value_name = "SIZE", default_value_t = ByteSize::b(PART_BYTES))]
    part_size: ByteSize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Stage {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        match &self.kind {
            Direct::In(arguments) => arguments.common.json,
            Direct::Out(arguments) => arguments.common.json,
            Direct::Client => false,
        }
    }

    /// Copies.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.kind {
            Direct::In(arguments) => arguments.run(),
            Direct::Out(arguments) => arguments.run(),
            Direct::Client => {
                serve(io::stdin().lock(), io::stdout())?;
                Ok(Exit::Success)
            }
        }
    }
}

impl In {
    fn run(self) -> anyhow::Result<Exit> {
        let cluster = self.common.cluster.load()?;
        let transfer = Transfer::begin(&cluster, "stage in")?;
        // A link that the user names is followed.
        let source = fs::canonicalize(&self.source);
        let source = source.with_context(|| format!("opening {}", self.source.display()))?;
        let tree = ClusterTree::connect(&cluster)?;
        let item = item(&LocalTree, &source.as_path().into(), &tree, &self.target)?;
        make_parents(&tree, &item.target)?;
        let plan = self.common.plan(&cluster, Direction::In)?;
        let report = transfer.run(&plan, vec![item])?;
        transfer::conclude(&report, &Failures::default(), self.common.json)
    }
}

impl Out {
    fn run(self) -> anyhow::Result<Exit> {
        let cluster = self.common.cluster.load()?;
        let transfer = Transfer::begin(&cluster, "stage out")?;
        // The answer names an unreachable server, and makes the exit code.
        Connection::open(&cluster)?.resolve(&self.source)?;
        let target = absolute(&self.target)?;
        let tree = ClusterTree::connect(&cluster)?;
        let item = item(&tree, &self.source, &LocalTree, &target.as_path().into())?;
        make_parents(&LocalTree, &item.target)?;
        let mut plan = self.common.plan(&cluster, Direction::Out)?;
        plan.synchronized = Some(match item.metadata.kind {
            Kind::Directory => item.target.clone(),
            _ => item.target.parent().unwrap_or_else(RemotePath::root),
        });
        let report = transfer.run(&plan, vec![item])?;
        transfer::conclude(&report, &Failures::default(), self.common.json)
    }
}

impl Common {
    fn plan(&self, cluster: &Cluster, direction: Direction) -> anyhow::Result<Plan> {
        let cores = cores::allowed().len().clamp(2, 8);
        let hosts = self.hosts.as_ref().map(|hosts| self.hosts(cluster, hosts));
        Ok(Plan {
            direction,
            clients: self.clients.map_or(cores, |clients| clients as usize),
            hosts: hosts.transpose()?,
            rules: self.rules(),
            synchronized: None,
        })
    }

    fn hosts(&self, cluster: &Cluster, hosts: &str) -> anyhow::Result<Hosts> {
        let launcher = self.launcher.as_ref().or(cluster.launcher.as_ref());
        let launcher = launcher.context(
            "the cluster file names no launcher; say with --launcher how to reach a host",
        )?;
        Hosts::parse(hosts, launcher)
    }

    fn rules(&self) -> Rules {
        Rules {
            owner: Owner::of_this_process(),
            present: match self.checksum {
                true => Present::SameData,
                false => Present::SameMetadata,
            },
            verification: match self.no_verify {
                true => Verification::Omitted,
                false => Verification::Checksums,
            },
            unreachable: match self.keep_going {
                true => Unreachable::SkipsFile,
                false => Unreachable::EndsCopy,
            },
            part_bytes: self.part_size.as_u64(),
            contents: Contents::Copied,
        }
    }
}

/// The copy of a path. A file whose target is a directory is copied into it.
fn item(
    from: &impl Tree,
    source: &RemotePath,
    to: &impl Tree,
    target: &RemotePath,
) -> anyhow::Result<Item> {
    let metadata = from.metadata(source, Links::Followed)?;
    let metadata = metadata.with_context(|| format!("{source} does not exist"))?;
    let mut target = target.clone();
    let mut present = to.metadata(&target, Links::Followed)?;
    if let Some(directory) = present
        && directory.kind == Kind::Directory
        && metadata.kind != Kind::Directory
    {
        let name = source.last_name().context("the source has no name")?;
        target = target.join(name);
        present = to.metadata(&target, Links::Unfollowed)?;
    }
    ensure!(
        metadata.kind == Kind::Directory || !target.is_directory_name(),
        "{target} is no directory"
    );
    let found = match present {
        Some(present) if present.is_copy_of(&metadata) => Found::Whole(present),
        _ => Found::Other,
    };
    Ok(Item {
        source: source.clone(),
        target,
        metadata,
        found,
    })
}

/// Makes the missing directories above a path.
fn make_parents(tree: &impl Tree, path: &RemotePath) -> anyhow::Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if tree.metadata(&parent, Links::Followed)?.is_none() {
        make_parents(tree, &parent)?;
        tree.make_directory(&parent, 0o755)?;
    }
    Ok(())
}

/// A local path from the root. Symbolic links to a directory that exists are followed.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(_) => std::path::absolute(path).with_context(|| output::escape_path(path)),
    }
}
