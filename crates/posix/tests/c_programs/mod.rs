//! C programs with a library on real servers, for the tests of the C libraries.

use futago_base::ServerId;
use futago_node::{
    Cluster, ServerEntry,
    server::{Config, Servers},
};
use futago_transport::Address;
use std::{
    ffi::OsStr,
    io::{Read, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};
use tempfile::TempDir;

/// A library that programs are linked with.
pub struct Library {
    /// Its name, as the linker knows it.
    pub name: &'static str,
    /// The shared library.
    pub shared: PathBuf,
    /// The directory of the crate, with `include` and `tests/programs`.
    pub sources: &'static str,
    /// The variable that names the cluster file.
    pub variable: &'static str,
}

/// Servers of one cluster, and a directory for what a test makes.
pub struct Running {
    library: Library,
    servers: Vec<Servers>,
    directory: TempDir,
}

/// How long a program may take, in seconds.
const LIMIT_S: &str = "120";

/// The compilers and standards that a header must satisfy. Machines of developers may lack clang;
/// `tests/setup --tests` installs it.
pub fn compilers() -> impl Iterator<Item = &'static str> {
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    let all = [
        "gcc -x c -std=c99 -D_XOPEN_SOURCE=700",
        "gcc -x c++ -std=c++17",
        "clang -x c -std=c99 -D_XOPEN_SOURCE=700",
        "clang -x c++ -std=c++17",
    ];
    let is_there = move |compiler: &&str| compiler.starts_with("gcc") || has_clang;
    all.into_iter().filter(is_there)
}

impl Running {
    pub fn start(library: Library, count: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let entry = |number| ServerEntry {
            address: Address::Unix(directory.path().join(format!("{number}.sock"))),
            host: None,
            process: u32::from(number),
        };
        let mut cluster = Cluster::new("test", (0..count).map(entry).collect()).unwrap();
        // A test that ends a server waits that long. A live server may take a grace time (2 s) for
        // requests that concern the other.
        cluster.limits.give_up_seconds = 3.0;
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
        Self {
            library,
            servers,
            directory,
        }
    }

    /// A path in the directory of the test.
    pub fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles a program; the compiler's words decide the language.
    pub fn compile(&self, compiler: &str, name: &str) -> PathBuf {
        let sources = Path::new(self.library.sources);
        let program = self.at(name);
        let mut words = compiler.split(' ');
        let status = Command::new(words.next().unwrap())
            .args(words)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-o"])
            .arg(&program)
            .arg(sources.join("tests/programs").join(format!("{name}.c")))
            .arg("-I")
            .arg(sources.join("include"))
            .arg("-I")
            .arg(sources.join("../posix/tests/c_programs"))
            .arg("-L")
            .arg(self.linked())
            .args(["-x", "none"])
            .arg(format!("-l{}", self.library.name))
            .status();
        assert!(status.unwrap().success(), "{compiler} compiles {name}.c");
        program
    }

    /// The directory with the shared library under its installed names.
    fn linked(&self) -> PathBuf {
        let name = format!("lib{}.so", self.library.name);
        for name in [format!("{name}.0"), name] {
            // The links of an earlier program are as good.
            let _ = symlink(&self.library.shared, self.at(&name));
        }
        self.directory.path().to_owned()
    }

    /// A command in the test's directory with the library and the cluster. One that hangs fails.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg("--kill-after=10")
            .arg(LIMIT_S)
            .arg(program)
            .current_dir(self.directory.path())
            .env("LD_LIBRARY_PATH", self.linked())
            .env(self.library.variable, self.at("cluster.toml"));
        command
    }

    /// Runs a command, which must succeed.
    pub fn run(&self, command: &mut Command) {
        succeeded(command.status().unwrap(), command);
    }

    /// Ends a server when a program has printed that it has written, and lets it go on.
    pub fn run_while_a_server_ends(&mut self, command: &mut Command) {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut written = [0; 8];
        let output = child.stdout.as_mut().unwrap();
        output.read_exact(&mut written).unwrap();
        assert_eq!(&written, b"written\n");
        // Dropped, it would still answer for a moment.
        self.servers.remove(2).stop().unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        succeeded(child.wait().unwrap(), command);
    }
}

/// The status says more than a failure: 124 is the time limit, 134 a failed check.
fn succeeded(status: ExitStatus, command: &Command) {
    assert!(status.success(), "{status}: {command:?}");
}
