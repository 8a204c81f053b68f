//! `chfsctl`: starts and ends a cluster.

use crate::{futago, print};
use chfs::settings;
use clap::{Parser, ValueEnum};
use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Starts, shows and ends a cluster of Futago with the options of CHFS. Of the options for
/// hardware that Futago does not use, none has an effect.
#[derive(Debug, Parser)]
#[command(name = "chfsctl", disable_help_flag = true)]
struct Chfsctl {
    /// A file of host names; this host without it.
    #[arg(short = 'h', value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Where this host mounts the file system.
    #[arg(short = 'm', value_name = "DIR")]
    mount: Option<PathBuf>,
    /// Do not mount.
    #[arg(short = 'M')]
    no_mount: bool,
    /// A directory that the cluster begins with and writes changes back to.
    #[arg(short = 'b', value_name = "DIR")]
    backing: Option<PathBuf>,
    /// Add servers. The servers of a cluster do not change.
    #[arg(short = 'A')]
    add: bool,
    /// The memory of each host, in bytes.
    #[arg(short = 's', value_name = "BYTES")]
    size: Option<u64>,
    /// The name of the cluster.
    #[arg(short = 'N', value_name = "NAME", default_value = "default")]
    name: String,
    #[command(flatten)]
    ignored: Ignored,
    /// The thing to do.
    mode: Mode,
}

/// Options for what Futago decides itself.
#[derive(Debug, clap::Args)]
struct Ignored {
    #[arg(short = 'c', hide = true)]
    scratch: Option<OsString>,
    #[arg(short = 'C', hide = true)]
    socket: Option<OsString>,
    #[arg(short = 'D', hide = true)]
    device: bool,
    #[arg(short = 'f', hide = true)]
    flush_threads: Option<OsString>,
    #[arg(short = 'i', hide = true)]
    interval: Option<OsString>,
    #[arg(short = 'I', hide = true)]
    interface: Option<OsString>,
    #[arg(short = 'L', hide = true)]
    logs: Option<OsString>,
    #[arg(short = 'n', hide = true)]
    contacts: Option<OsString>,
    #[arg(short = 'O', hide = true)]
    options: Option<OsString>,
    #[arg(short = 'p', hide = true)]
    protocol: Option<OsString>,
    #[arg(short = 'x', hide = true)]
    exported: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Start,
    Stop,
    Status,
    Kill,
    Clean,
}

/// Does what the words ask for.
pub fn run(words: Vec<OsString>) -> Result<ExitCode, String> {
    let chfsctl = Chfsctl::parse_from(words);
    match chfsctl.mode {
        Mode::Start => chfsctl.start(),
        Mode::Status => chfsctl.futago("status"),
        Mode::Stop | Mode::Kill => chfsctl.futago("down"),
        // A cluster leaves nothing behind, so there is something to clean only while it runs.
        Mode::Clean if !chfsctl.running_cluster()?.exists() => Ok(ExitCode::SUCCESS),
        Mode::Clean => chfsctl.futago("down"),
    }
}

impl Chfsctl {
    /// Starts the servers and prints what a shell must evaluate.
    fn start(&self) -> Result<ExitCode, String> {
        if self.add {
            return Err("-A: the servers of a cluster do not change; start them at once".into());
        }
        let cluster = self.new_cluster()?;
        let output = futago::output(self.up(&cluster)?)?;
        if !output.status.success() {
            return Ok(ExitCode::FAILURE);
        }
        let mut text = export("CHFS_SERVER", &cluster);
        if let Some(mount) = self.mount.as_deref().filter(|_| !self.no_mount) {
            text += &export("CHFS_SUBDIR_PATH", &absolute(mount)?);
        }
        if let Some(directory) = &self.backing {
            text += &export("CHFS_BACKEND_PATH", &absolute(directory)?);
        }
        print(&(text.trim_end().to_owned() + "\n"))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The command that starts the servers.
    fn up(&self, cluster: &Path) -> Result<Command, String> {
        let mut command = futago::command(["up", "--cluster"]);
        command.arg(cluster).args(["--name", &self.name]);
        let hosts = self.hosts.as_ref().map(|file| (file, host_count(file)));
        if let Some((file, _)) = &hosts {
            command.arg("--hosts").arg(file);
        }
        if let Some(directory) = &self.backing {
            command.arg("--backing").arg(directory);
        }
        if let Some(bytes) = self.size {
            let hosts = hosts.map_or(Ok(1), |(_, count)| count)?;
            command.args(["--memory", &bytes.saturating_mul(hosts).to_string()]);
        }
        if let Some(mount) = self.mount.as_ref().filter(|_| !self.no_mount) {
            fs::create_dir_all(mount).map_err(|failed| named(mount, &failed))?;
            command.arg("--mount").arg(mount);
        }
        Ok(command)
    }

    /// Runs a command of `futago` on the running cluster.
    fn futago(&self, command: &str) -> Result<ExitCode, String> {
        let mut command = futago::command([command, "--cluster"]);
        command.arg(self.running_cluster()?);
        let ended = futago::run(command)?;
        Ok(ExitCode::from(u8::from(!ended.success())))
    }

    fn running_cluster(&self) -> Result<PathBuf, String> {
        match settings::cluster_file(None) {
            Some(file) => Ok(file),
            None => self.cluster_file(),
        }
    }

    fn new_cluster(&self) -> Result<PathBuf, String> {
        let file = self.cluster_file()?;
        let directory = file.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(|failed| named(directory, &failed))?;
        Ok(file)
    }

    /// The cluster file, in the home directory: other hosts must find it, too.
    fn cluster_file(&self) -> Result<PathBuf, String> {
        let home = env::home_dir().ok_or("there is no home directory")?;
        Ok(home
            .join(".futago")
            .join(format!("chfs-{}.toml", self.name)))
    }
}

/// The number of hosts in a file of host names.
fn host_count(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|failed| named(file, &failed))?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    Ok(lines.filter(|line| !line.trim().is_empty()).count() as u64)
}

/// A statement of the shell.
fn export(variable: &str, value: &Path) -> String {
    let quoted = value.display().to_string().replace('\'', "'\\''");
    format!("{variable}='{quoted}'; export {variable}; ")
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|failed| named(path, &failed))
}

fn named(path: &Path, failed: &io::Error) -> String {
    format!("{}: {failed}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_words(options: &str) -> Vec<String> {
        let words = format!("chfsctl {options} start");
        let chfsctl = Chfsctl::parse_from(words.split_whitespace());
        let command = chfsctl.up(Path::new("/c.toml")).expect("a command");
        let words = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned());
        words.skip(3).collect()
    }

    #[test]
    fn options_of_chfs_become_those_of_futago() {
        let words = up_words("-p verbs -D -c /dev/dax0.0 -L logs -N two -s 1048576 -x A -x B");
        assert_eq!(words, ["--name", "two", "--memory", "1048576"]);
    }

    #[test]
    fn a_backing_store_is_passed_on() {
        let words = up_words("-b /lustre/me -f 4");
        assert_eq!(words, ["--name", "default", "--backing", "/lustre/me"]);
    }

    #[test]
    fn values_are_quoted_for_the_shell() {
        let line = export("CHFS_SERVER", Path::new("/a b'c.toml"));
        assert_eq!(line, "CHFS_SERVER='/a b'\\''c.toml'; export CHFS_SERVER; ");
    }
}
