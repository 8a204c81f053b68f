//! `futago down`: ends a cluster.

use crate::{
    cluster::{ClusterFile, backing, cleanup},
    commands::flush,
    exit::{Exit, Problem},
    output,
};
use clap::Args;
use futago_node::{Cluster, FlushPolicy};
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
    /// End the cluster even if changes cannot be written back to its backing store: they are lost.
    #[arg(long)]
    discard: bool,
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
                let cluster = file.load()?;
                if !self.discard {
                    flush(&file, &cluster)?;
                }
                let ended = cleanup::everywhere(&cluster)?;
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

/// Writes changes back, unless the cluster was started without that.
///
/// # Errors
/// If not everything could be written back: the cluster stays.
pub fn flush(file: &ClusterFile, cluster: &Cluster) -> anyhow::Result<()> {
    let store = cluster.backing.as_ref();
    let is_wanted = store.is_some_and(|store| store.flush != FlushPolicy::None);
    if !is_wanted || !cleanup::is_running(cluster) {
        return Ok(());
    }
    let refused = |cause: String| {
        let advice = "the cluster stays; mend that, or lose the changes with --discard";
        Problem::error(
            Exit::Wrong,
            format!("not everything is written back: {cause}; {advice}"),
        )
    };
    let pass = backing::flush(file, cluster).map_err(|error| refused(format!("{error:#}")))?;
    let report = flush::Report::from(pass);
    report.print_failures();
    match report.is_complete() {
        true => Ok(()),
        false => Err(refused(report.text().trim_end().to_owned())),
    }
}
