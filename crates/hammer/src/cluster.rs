//! The cluster under test, as it is between rounds.

use crate::journal::Doing;
use anyhow::{Context, anyhow, ensure};
use futago_base::{Attributes, Errno, FileId, Space};
use futago_node::{Cluster, Futago, Options};
use futago_twin::fuzz::remove_entries;
use futago_twin::model::Tree;
use futago_wire::AttributeChange;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The kernel reports closed files to servers some time after the call; the servers must have
/// received the reports within this time.
const REST_WITHIN: Duration = Duration::from_secs(30);

/// The cluster, a client that cleans up, and the program that checks the cluster.
pub struct Site {
    program: PathBuf,
    file: PathBuf,
    client: Futago,
    root: Attributes,
    doing: Doing,
}

impl Site {
    /// The cluster of this file, checked by this program.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub fn new(program: PathBuf, file: PathBuf, cluster: &Cluster) -> anyhow::Result<Self> {
        let client = Futago::connect(cluster, Options::default())?;
        let root =
            client.run_blocking(async |client| client.core().attributes(FileId::ROOT).await)?;
        let root = root.map_err(|errno| anyhow!("the root directory: {errno}"))?;
        Ok(Self {
            program,
            file,
            client,
            root: root.attributes,
            doing: Doing::default(),
        })
    }

    /// The operation in progress.
    pub fn doing(&self) -> Doing {
        self.doing.clone()
    }

    /// The tree at the start of a round.
    pub fn tree(&self) -> Tree {
        Tree::new(self.root.mode, self.root.uid, self.root.gid)
    }

    /// Removes all files.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clean_up(&self) -> anyhow::Result<()> {
        let root = self.root;
        let cleaned = self.doing.show(String::from("clean-up"), || {
            self.client.run_blocking(async |client| {
                let core = client.core();
                remove_entries(core, FileId::ROOT).await?;
                for name in core.list_xattrs(FileId::ROOT).await? {
                    core.remove_xattr(FileId::ROOT, &name).await?;
                }
                let change = AttributeChange {
                    mode: Some(root.mode),
                    uid: Some(root.uid),
                    gid: Some(root.gid),
                    ..AttributeChange::default()
                };
                core.set_attributes(FileId::ROOT, change).await
            })
        })?;
        cleaned.map_err(|errno: Errno| anyhow!("cannot clean up: {errno}"))?;
        Ok(())
    }

    /// Waits until the servers hold nothing but the root directory, and returns their occupancy
    /// then.
    ///
    /// # Errors
    /// Files are left after the time limit.
    pub fn rest(&self) -> anyhow::Result<Space> {
        let deadline = Instant::now() + REST_WITHIN;
        loop {
            let held = self.held()?;
            if held.files == 1 {
                return Ok(held);
            }
            ensure!(
                Instant::now() < deadline,
                "{} files are left after everything has been removed",
                held.files - 1
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn held(&self) -> anyhow::Result<Space> {
        let held = self.doing.show(String::from("space"), || {
            self.client
                .run_blocking(async |client| client.core().space().await)
        })?;
        held.map_err(|errno| anyhow!("cannot ask for space: {errno}"))
    }

    /// Checks that all records are consistent.
    ///
    /// # Errors
    /// The inconsistencies.
    pub fn check_records(&self) -> anyhow::Result<()> {
        let output = Command::new(&self.program)
            .args(["fsck", "--cluster"])
            .arg(&self.file)
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        ensure!(output.status.success(), "futago fsck: {}", text.concat());
        Ok(())
    }
}
