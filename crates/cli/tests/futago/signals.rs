//! Signals end processes and leave nothing behind.

use crate::common::{Cluster, mount_process, mounted, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// How far a start has come.
type Moment = fn(&Start) -> bool;

/// An `up` that is to be interrupted.
struct Start {
    directory: tempfile::TempDir,
}

impl Start {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The paths in the cluster's runtime directory.
    fn in_runtime_directory(&self) -> Vec<PathBuf> {
        let list = |path: PathBuf| {
            let entries = std::fs::read_dir(path).into_iter().flatten();
            entries.flatten().map(|entry| entry.path())
        };
        list(self.path("runtime")).flat_map(list).collect()
    }

    fn has_made(&self, ending: &str) -> bool {
        let made = self.in_runtime_directory();
        made.iter()
            .any(|path| path.display().to_string().ends_with(ending))
    }

    /// Interrupts `up` at this moment, and returns its exit code.
    fn interrupt(&self, moment: Moment) -> Option<i32> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_futago"));
        command.args(["up", "--servers", "2", "--memory", "256MiB"]);
        if Path::new("/dev/fuse").exists() {
            std::fs::create_dir(self.path("mount")).unwrap();
            command.arg("--mount").arg(self.path("mount"));
        }
        command.arg("--cluster").arg(self.path("c.toml"));
        command.env("XDG_RUNTIME_DIR", self.path("runtime"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut up = command.spawn().unwrap();
        let ended = |up: &mut std::process::Child| up.try_wait().unwrap().is_some();
        wait_for(|| moment(self) || ended(&mut up));
        if !ended(&mut up) {
            kill_process(Pid::from_child(&up), Signal::INT).unwrap();
        }
        up.wait().unwrap().code()
    }

    fn is_gone(&self) -> bool {
        let runtime = std::fs::read_dir(self.path("runtime")).unwrap();
        runtime.count() == 0 && !self.path("c.toml").exists() && !mounted(&self.path("mount"))
    }

    /// The processes that know of this cluster.
    fn processes(&self) -> Vec<i32> {
        let directory = self.directory.path().display().to_string();
        let knows = |process: &procfs::process::Process| {
            let arguments = process.cmdline().unwrap_or_default();
            arguments
                .iter()
                .any(|argument| argument.contains(&directory))
        };
        let all = procfs::process::all_processes().unwrap().flatten();
        all.filter(knows).map(|process| process.pid()).collect()
    }
}

#[test]
fn a_start_that_is_interrupted_leaves_nothing() {
    let moments: [Moment; 8] = [
        |_| true,
        |start| start.path("c.toml").exists(),
        |start| !start.in_runtime_directory().is_empty(),
        |start| start.has_made("server-1.log"),
        |start| start.has_made("server-0.process"),
        |start| start.has_made("1.sock"),
        |start| {
            start
                .in_runtime_directory()
                .iter()
                .any(|path| path.display().to_string().contains("mount-of"))
        },
        |start| mounted(&start.path("mount")),
    ];
    for (number, moment) in moments.into_iter().enumerate() {
        let start = Start {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(start.path("runtime")).unwrap();
        if start.interrupt(moment) == Some(0) {
            // It was ready before.
            let mut down = crate::common::futago();
            down.args(["down", "--cluster"]).arg(start.path("c.toml"));
            down.assert().success();
        }
        assert!(start.is_gone(), "moment {number}");
        let left = start.processes();
        assert!(left.is_empty(), "moment {number}: {left:?}");
    }
}

#[test]
fn a_mount_that_a_signal_ends_is_unmounted() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    let runtime = cluster.load().runtime_directory.unwrap();
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        cluster.command(&["mount"]).arg(&point).assert().success();
        // A file in use does not keep the mount.
        let used = std::fs::File::create(point.join("used")).unwrap();
        let process = mount_process(&point);
        let record = runtime.join(format!("mount-{}.process", process.as_raw_nonzero()));
        assert!(record.exists());
        kill_process(process, signal).unwrap();
        wait_for(|| !mounted(&point) && !record.exists());
        drop(used);
    }
}

#[test]
fn what_was_written_outlives_the_mount_that_a_signal_ends() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    cluster.command(&["mount"]).arg(&point).assert().success();
    let mut written = std::fs::File::create(point.join("written")).unwrap();
    // The mount's client buffers small writes, for some seconds.
    for number in 0..1000_u32 {
        written.write_all(&number.to_le_bytes()).unwrap();
    }
    kill_process(mount_process(&point), Signal::TERM).unwrap();
    wait_for(|| !mounted(&point));
    let got = cluster
        .command(&["get", "/written"])
        .arg(cluster.path("got"))
        .assert();
    got.success();
    let expected: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(std::fs::read(cluster.path("got")).unwrap(), expected);
    drop(written);
}

#[test]
fn memory_that_the_host_does_not_have_is_refused() {
    let start = Start {
        directory: tempfile::tempdir().unwrap(),
    };
    std::fs::create_dir(start.path("runtime")).unwrap();
    let mut up = crate::common::futago();
    up.env("XDG_RUNTIME_DIR", start.path("runtime"));
    up.args(["up", "--memory", "4096TiB", "--cluster"]);
    let refused = up.arg(start.path("c.toml")).assert().code(3);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(error.contains("4.0 PiB of this host"), "{error}");
    assert!(start.is_gone());
}
