//! C programs with the library on real servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::ServerId;
use futago_node::{
    Cluster, ServerEntry,
    server::{Config, Servers},
};
use futago_transport::Address;
use std::{
    env,
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Servers of one cluster, and a directory for what a test makes.
struct Running {
    servers: Vec<Servers>,
    directory: TempDir,
}

impl Running {
    fn start(count: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let entry = |number| ServerEntry {
            address: Address::Unix(directory.path().join(format!("{number}.sock"))),
            host: None,
            process: u32::from(number),
        };
        let cluster = Cluster::new("test", (0..count).map(entry).collect()).unwrap();
        cluster
            .create(&directory.path().join("cluster.toml"))
            .unwrap();
        let server = |number| {
            let config = Config {
                cluster: cluster.clone(),
                servers: vec![ServerId(number)],
                memory_bytes: 1 << 30,
                root_owner: (0, 0),
            };
            Servers::start(&config).unwrap()
        };
        let servers = (0..count).map(server).collect();
        Self { servers, directory }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles a program; the compiler's words decide the language.
    fn compile(&self, compiler: &str, name: &str) -> PathBuf {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.at(name);
        let mut words = compiler.split(' ');
        let status = Command::new(words.next().unwrap())
            .args(words)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-o"])
            .arg(&program)
            .arg(sources.join("tests/programs").join(format!("{name}.c")))
            .arg("-I")
            .arg(sources.join("include"))
            .arg("-L")
            .arg(self.linked())
            .args(["-x", "none", "-lchfs"])
            .status();
        assert!(status.unwrap().success(), "{compiler} compiles {name}.c");
        program
    }

    /// The directory with the shared library under its installed names.
    fn linked(&self) -> PathBuf {
        let built = env::current_exe().unwrap().with_file_name("libchfs.so");
        for name in ["libchfs.so", "libchfs.so.0"] {
            // The links of an earlier program are as good.
            let _ = symlink(&built, self.at(name));
        }
        self.directory.path().to_owned()
    }

    /// A command in the test's directory with the library and the cluster. One that hangs fails.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg("--kill-after=10")
            .arg(LIMIT_S)
            .arg(program)
            .current_dir(self.directory.path())
            .env("LD_LIBRARY_PATH", self.linked())
            .env("CHFS_SERVER", self.at("cluster.toml"));
        command
    }

    fn run(&self, command: &mut Command) {
        assert!(command.status().unwrap().success(), "{command:?}");
    }
}

/// How long a program may take, in seconds.
const LIMIT_S: &str = "120";

const C: &str = "gcc -std=gnu99";

#[test]
fn the_header_compiles_as_c_and_as_cpp() {
    let running = Running::start(1);
    let mut compilers = vec![
        "gcc -x c -std=c99 -D_XOPEN_SOURCE=700",
        "gcc -x c++ -std=c++17",
        "clang -x c -std=c99 -D_XOPEN_SOURCE=700",
        "clang -x c++ -std=c++17",
    ];
    compilers.retain(|compiler| compiler.starts_with("gcc") || has_clang());
    for compiler in compilers {
        let program = running.compile(compiler, "header");
        running.run(&mut running.command(program));
    }
}

/// Machines of developers may lack it; `tests/setup --tests` installs it.
fn has_clang() -> bool {
    Command::new("clang").arg("--version").output().is_ok()
}

#[test]
fn every_function_does_what_posix_says() {
    for buffer in ["0", "65536"] {
        let running = Running::start(4);
        fs::write(running.at("local"), b"staged\0\0").unwrap();
        let mut command = running.command(running.compile(C, "files"));
        running.run(command.arg("local").env("CHFS_BUF_SIZE", buffer));
    }
}

#[test]
fn programs_of_chfs_find_its_deviations_when_they_ask_for_them() {
    let running = Running::start(2);
    let program = running.compile(C, "compatible");
    let mut command = running.command(program);
    let settings = [("CHFS_COMPAT", "1"), ("CHFS_SUBDIR_PATH", "/mnt/chfs")];
    running.run(command.envs(settings));
}

#[test]
fn children_of_a_process_have_sessions_of_their_own() {
    let running = Running::start(2);
    let program = running.compile(C, "forks");
    for buffer in ["0", "65536"] {
        running.run(running.command(&program).env("CHFS_BUF_SIZE", buffer));
    }
}

#[test]
fn data_outlives_programs_that_end_without_closing() {
    let running = Running::start(2);
    let program = running.compile(C, "exits");
    for word in ["write", "check"] {
        let mut command = running.command(&program);
        running.run(command.arg(word).env("CHFS_BUF_SIZE", "65536"));
    }
}

#[test]
fn a_killed_server_makes_errors_and_never_short_files() {
    let mut running = Running::start(4);
    let program = running.compile(C, "killed");
    let mut command = running.command(program);
    let mut child = command
        .env("CHFS_RPC_TIMEOUT_MSEC", "1000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = [0; 8];
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut written)
        .unwrap();
    assert_eq!(&written, b"written\n");
    drop(running.servers.remove(2));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn ranks_of_mpi_programs_find_what_others_have_written() {
    for (ranks, buffer) in [("2", "0"), ("4", "65536")] {
        let running = Running::start(4);
        let program = running.compile("mpicc -std=gnu99 -Wno-cast-function-type", "patterns");
        let mut command = running.command("mpirun");
        command.env("CHFS_BUF_SIZE", buffer);
        running.run(command.args(["-n", ranks]).arg(program));
    }
}
