//! `futago down`: ends a cluster.

use crate::{
    cluster::{ClusterFile, cleanup},
    exit::{Exit, Problem},
    output,
};
use clap::Args;
use std::{fs, path::PathBuf};

/// Arguments of `down`.
#[derive(Args)]
pub struct Down {
    /// The cluster file; it is removed at the end.
    #[arg(
        long,
        value_name = "FILE",
        env = "FUTAGO_CLUSTER",
        required_unless_present = "here"
    )]
    cluster: Option<PathBuf>,
    /// End only the processes of this runtime directory on this host; `down` runs this on other
    /// hosts.
    #[arg(long, hide = true, value_name = "DIR")]
    here: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Down {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Ends everything.
    pub fn run(self) -> anyhow::Result<Exit> {
        let ended = match (&self.here, self.cluster) {
            (Some(directory), _) => cleanup::on_this_host(directory),
            (None, Some(path)) => {
                let file = ClusterFile { path };
                let ended = cleanup::everywhere(&file.load()?)?;
                if ended.problems.is_empty() {
                    fs::remove_file(&file.path)?;
                }
                ended
            }
            (None, None) => return Err(Problem::error(Exit::Usage, "say which --cluster")),
        };
        output::print(self.json, &ended, |ended| {
            let mut text = format!("{} server process(es) ended\n", ended.servers);
            for mount in &ended.mounts {
                text += &format!("unmounted {mount}\n");
            }
            for pid in &ended.killed {
                text += &format!("killed process {pid}, which did not end by itself\n");
            }
            text
        })?;
        if ended.problems.is_empty() {
            return Ok(Exit::Success);
        }
        Err(Problem::error(Exit::Failed, ended.problems.join("; ")))
    }
}
