//! Servers leave no core dumps unless they may.

use crate::common::{futago, wait_for};
use futago_node::ServerEntry;
use futago_transport::Address;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use std::{
    fs::File,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::Command,
};

/// Whether a process that is ready, or ends by itself, leaves a core dump when it is aborted.
fn leaves_core(mut command: Command, directory: &Path, ready: &str) -> bool {
    let output = directory.join("output");
    command
        .current_dir(directory)
        .stdout(File::create(&output).unwrap());
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    // SAFETY: setrlimit is async-signal-safe and touches nothing of this process.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Core, unlimited)?)) };
    let mut child = command.spawn().unwrap();
    wait_for(|| std::fs::read_to_string(&output).unwrap().contains(ready));
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(pid, Signal::ABORT).unwrap();
    child.wait().unwrap().core_dumped()
}

fn server(directory: &Path, extra: &[&str]) -> Command {
    let address = Address::Unix(directory.join("0.sock"));
    let entry = ServerEntry {
        address,
        host: None,
        process: 0,
    };
    let mut cluster = futago_node::Cluster::new("test", vec![entry]).unwrap();
    cluster.runtime_directory = Some(directory.join("run"));
    cluster.limits.memory_bytes = 64 << 20;
    cluster.create(&directory.join("c.toml")).unwrap();
    let mut command = Command::new(futago().get_program());
    command.args(["serve", "--process", "0", "--cluster"]);
    command.arg(directory.join("c.toml")).args(extra);
    command
}

#[test]
fn a_server_leaves_no_core_dump_unless_it_may() {
    let in_directory = |test: &dyn Fn(&Path) -> bool| {
        let directory = tempfile::tempdir().unwrap();
        test(directory.path())
    };
    assert!(!in_directory(&|path| leaves_core(
        server(path, &[]),
        path,
        "ready"
    )));
    let can_be_tried = in_directory(&|path| {
        let mut any = Command::new("sh");
        any.args(["-c", "echo ready; exec sleep 60"]);
        leaves_core(any, path, "ready")
    });
    if !can_be_tried {
        return println!("skipped: this host keeps no core dumps");
    }
    let allowed = ["--allow-core"];
    assert!(in_directory(&|path| leaves_core(
        server(path, &allowed),
        path,
        "ready"
    )));
}
