//! A cluster of its own for each test, which leaves nothing behind.

use assert_cmd::Command;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

/// The program, without the environment variables of the tests' caller.
pub fn futago() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_futago"));
    command
        .env_remove("FUTAGO_CLUSTER")
        .env_remove("FUTAGO_LOG");
    command
}

/// A running cluster; it is ended with the test.
pub struct Cluster {
    /// A directory for the test's files.
    pub directory: tempfile::TempDir,
}

impl Cluster {
    /// Starts one.
    pub fn up(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cluster = Self { directory };
        cluster.start(arguments).success();
        cluster
    }

    /// Runs `up` on this cluster's file.
    pub fn start(&self, arguments: &[&str]) -> assert_cmd::assert::Assert {
        futago()
            .args(["up", "--memory", "256MiB", "--cluster"])
            .arg(self.file())
            .args(arguments)
            .assert()
    }

    /// The cluster file.
    pub fn file(&self) -> PathBuf {
        self.path("c.toml")
    }

    /// A file of the test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A subcommand on this cluster.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = futago();
        command.args(arguments).env("FUTAGO_CLUSTER", self.file());
        command
    }

    /// Runs a subcommand with `--json` and returns its exit code and what it printed.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.command(arguments).arg("--json").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!(
                "{error} in {text:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            )
        });
        (output.status.code().unwrap(), value)
    }

    /// The cluster as the library knows it.
    pub fn load(&self) -> futago_node::Cluster {
        futago_node::Cluster::load(&self.file()).unwrap()
    }

    /// The system's number of a server's process.
    pub fn process_id(&self, process: usize) -> i32 {
        let (_, status) = self.json(&["status"]);
        let pid = status["servers"][process]["counters"]["process_id"].as_i64();
        pid.unwrap() as i32
    }

    /// Kills the process of a server and waits until it is gone.
    pub fn kill(&self, process: usize) {
        let pid = rustix::process::Pid::from_raw(self.process_id(process)).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        while is_running(pid) {
            std::thread::yield_now();
        }
    }
}

fn is_running(pid: rustix::process::Pid) -> bool {
    let stat = procfs::process::Process::new(pid.as_raw_nonzero().get()).and_then(|p| p.stat());
    stat.is_ok_and(|stat| stat.state != 'Z')
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.file().exists() {
            let _ = futago()
                .args(["down", "--discard", "--cluster"])
                .arg(self.file())
                .output();
        }
    }
}

/// The process that serves a mount, stopped for as long as this lives.
pub struct Stopped(rustix::process::Pid);

impl Stopped {
    /// Stops it.
    pub fn mount(point: &Path) -> Self {
        let process = mount_process(point);
        rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
        Self(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::CONT);
    }
}

/// Writes a local file.
pub fn write(path: &Path, contents: &[u8]) {
    std::fs::write(path, contents).unwrap();
}

/// A tree whose directories lie on all servers.
pub fn spread(tree: &Path) {
    for number in 0..16 {
        let directory = tree.join(number.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        write(&directory.join("file"), b"data");
    }
}

/// A device on which every write fails, as on a full disk.
pub fn full() -> Stdio {
    let device = std::fs::File::options().write(true).open("/dev/full");
    device.unwrap().into()
}

/// A pipe whose reader has gone.
pub fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A TCP port of this host that nobody uses now.
pub fn free_port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// The process that serves a mount.
pub fn mount_process(point: &Path) -> rustix::process::Pid {
    let serves = |process: &procfs::process::Process| {
        let arguments = process.cmdline().unwrap_or_default();
        let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
        has("mount") && has("--foreground") && has(point.to_str().unwrap())
    };
    let mut processes = procfs::process::all_processes().unwrap().flatten();
    let process = processes.find(serves).unwrap();
    rustix::process::Pid::from_raw(process.pid()).unwrap()
}

/// Whether a file system is mounted at this path.
pub fn mounted(point: &Path) -> bool {
    let mounts = procfs::process::Process::myself().unwrap().mountinfo();
    let mut mounts = mounts.unwrap().into_iter();
    mounts.any(|mount| mount.mount_point == point)
}

/// A small file system in memory, which is taken away with the test.
pub struct TemporaryDisk(pub PathBuf);

impl TemporaryDisk {
    /// Mounts one of a size. `None` without the right to mount.
    pub fn mount(point: &Path, size: &str) -> Option<Self> {
        let size = format!("size={size}");
        let is_mounted = mount(&["-t", "tmpfs", "-o", &size, "none", point.to_str().unwrap()]);
        is_mounted.then(|| Self(point.into()))
    }

    /// Changes its options.
    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(mount(&["-o", &options, self.0.to_str().unwrap()]));
    }
}

impl Drop for TemporaryDisk {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("umount");
        let _ = command.arg("-l").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str]) -> bool {
    let mut command = std::process::Command::new("mount");
    let status = command.args(arguments).status();
    status.is_ok_and(|status| status.success())
}

/// Waits until something holds, for as long as a busy machine may need.
pub fn wait_for(mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !condition() {
        assert!(
            std::time::Instant::now() < deadline,
            "it does not come about"
        );
        std::thread::yield_now();
    }
}
