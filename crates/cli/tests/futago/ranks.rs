//! Clusters whose server processes a launcher of MPI programs starts.

use crate::common::{futago, wait_for};
use std::process::{Child, Command, Stdio};

/// The server processes, which the launcher would end.
struct Launched(Vec<Child>);

impl Drop for Launched {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn launch(cluster: &std::path::Path, ranks: u32, variables: [&str; 2]) -> Launched {
    let start = |rank: u32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_futago"));
        command
            .env_remove("FUTAGO_CLUSTER")
            .args(["serve", "--ranks", "--memory", "96MiB", "--cluster"])
            .arg(cluster)
            .env(variables[0], rank.to_string())
            .env(variables[1], ranks.to_string())
            .stdout(Stdio::null());
        command.spawn().unwrap()
    };
    Launched((0..ranks).rev().map(start).collect())
}

#[test]
fn ranks_form_a_cluster_and_end_it() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("c.toml");
    for variables in [
        ["PMI_RANK", "PMI_SIZE"],
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        ["SLURM_PROCID", "SLURM_NTASKS"],
    ] {
        let mut launched = launch(&file, 3, variables);
        let status = || {
            futago()
                .args(["status", "--cluster"])
                .arg(&file)
                .output()
                .unwrap()
        };
        wait_for(|| status().status.success());
        let directory = futago_node::Cluster::load(&file)
            .unwrap()
            .runtime_directory
            .unwrap();
        assert!(directory.is_dir());
        for process in &launched.0 {
            let id = rustix::process::Pid::from_child(process);
            rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        }
        for process in &mut launched.0 {
            process.wait().unwrap();
        }
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        assert!(!directory.exists(), "{}", directory.display());
    }
}

#[test]
fn a_process_without_a_rank_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = futago();
    for name in ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"] {
        command.env_remove(name);
    }
    command.args(["serve", "--ranks", "--cluster"]);
    let output = command.arg(scratch.path().join("c.toml")).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("PMI_RANK"), "{message}");
}
