//! Programs that start programs on other hosts: ssh, srun or anything with the same manners.

use super::spawn;
use anyhow::{Context, ensure};
use futago_node::Cluster;
use std::{
    ffi::OsString,
    fs::File,
    os::unix::ffi::{OsStrExt, OsStringExt},
    process::{Command, Output, Stdio},
    time::Duration,
};

/// A command line with `{host}` in it, to which the command to run is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    words: Vec<String>,
    /// ssh joins its arguments and gives them to a shell; others pass them on as they are.
    through_shell: bool,
}

impl Launcher {
    /// Parses a template such as `ssh {host}` or `srun --overlap -N1 -w {host}`.
    pub fn parse(template: &str) -> anyhow::Result<Self> {
        let words = shell_words::split(template)
            .with_context(|| format!("launcher {template:?} is no command line"))?;
        ensure!(
            !words.is_empty(),
            "the launcher is empty; write for example 'ssh {{host}}'"
        );
        ensure!(
            words.iter().any(|word| word.contains("{host}")),
            "launcher {template:?} does not say where {{host}} belongs"
        );
        let program = words[0].rsplit('/').next().unwrap_or_default();
        let through_shell = matches!(program, "ssh" | "rsh" | "dbclient");
        Ok(Self {
            words,
            through_shell,
        })
    }

    /// The command line that runs `command` on `host`.
    pub fn command_line(&self, host: &str, command: &[OsString]) -> Vec<OsString> {
        let mut line: Vec<OsString> = self
            .words
            .iter()
            .map(|word| word.replace("{host}", host).into())
            .collect();
        if self.through_shell {
            line.push(for_shell(command));
        } else {
            line.extend_from_slice(command);
        }
        line
    }
}

/// Runs this program with these words on a host of a cluster, and returns what it prints.
///
/// # Errors
/// The cluster has no launcher, or the program fails. The error names the host.
pub fn run_on(
    cluster: &Cluster,
    host: &str,
    words: &[OsString],
    input: Option<File>,
) -> anyhow::Result<Vec<u8>> {
    let input = input.map_or_else(Stdio::null, Stdio::from);
    let output = command_on(cluster, host, words)?.stdin(input).output();
    printed(
        host,
        output.with_context(|| format!("{host}: running the launcher"))?,
    )
}

/// As [`run_on`], for at most so long. Its output is short.
///
/// # Errors
/// As [`run_on`], and if the time is over.
pub fn ask_on(
    cluster: &Cluster,
    host: &str,
    words: &[OsString],
    limit: Duration,
) -> anyhow::Result<Vec<u8>> {
    let mut command = command_on(cluster, host, words)?;
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn();
    let mut running = running.with_context(|| format!("{host}: running the launcher"))?;
    let has_ended = spawn::wait_until(limit, || !matches!(running.try_wait(), Ok(None)));
    if !has_ended {
        running.kill()?;
        running.wait()?;
    }
    ensure!(has_ended, "{host}: no answer in {} s", limit.as_secs());
    printed(host, running.wait_with_output()?)
}

fn printed(host: &str, output: Output) -> anyhow::Result<Vec<u8>> {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{host}: {said}");
    Ok(output.stdout)
}

/// The command that runs this program with these words on a host of a cluster.
///
/// # Errors
/// The cluster has no launcher.
pub fn command_on(cluster: &Cluster, host: &str, words: &[OsString]) -> anyhow::Result<Command> {
    let launcher = cluster.launcher.as_deref();
    let launcher = Launcher::parse(launcher.context("the cluster file names no launcher")?)?;
    let program: OsString = std::env::current_exe()?.into();
    let line = launcher.command_line(host, &[&[program], words].concat());
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]);
    Ok(command)
}

/// Words as one that a shell takes apart again.
fn for_shell(words: &[OsString]) -> OsString {
    let quote = |word: &OsString| match word.to_str() {
        Some(text) => shell_words::quote(text).into_owned().into_bytes(),
        // Nothing but its end means anything within single quotes.
        None => {
            let parts: Vec<&[u8]> = word.as_bytes().split(|&byte| byte == b'\'').collect();
            [b"'", &parts.join(&b"'\\''"[..])[..], b"'"].concat()
        }
    };
    let quoted: Vec<Vec<u8>> = words.iter().map(quote).collect();
    OsString::from_vec(quoted.join(&b' '))
}

/// The hosts of a file: one a line; empty lines and what follows `#` do not count, and what follows
/// the name (such as `slots=4`) neither.
pub fn parse_hosts(text: &str) -> anyhow::Result<Vec<String>> {
    let hosts: Vec<String> = text
        .lines()
        .filter_map(|line| line.split('#').next()?.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    ensure!(!hosts.is_empty(), "the file names no host");
    if let Some(host) = hosts.iter().find(|host| host.starts_with('-')) {
        anyhow::bail!("{host:?} is no host name");
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn bytes_that_are_no_text_reach_a_shell_as_they_are() {
        let word = OsString::from_vec(b"it's \xff".into());
        assert_eq!(for_shell(&[word]).as_bytes(), b"'it'\\''s \xff'");
    }

    #[test]
    fn ssh_gets_one_quoted_word_and_others_get_words() {
        let command = words(&["/opt/my dir/futago", "serve"]);
        let ssh = Launcher::parse("ssh -o BatchMode=yes {host}").unwrap();
        assert_eq!(
            ssh.command_line("n1", &command),
            words(&[
                "ssh",
                "-o",
                "BatchMode=yes",
                "n1",
                "'/opt/my dir/futago' serve"
            ])
        );
        let srun = Launcher::parse("srun -w {host} --").unwrap();
        assert_eq!(
            srun.command_line("n1", &command),
            words(&["srun", "-w", "n1", "--", "/opt/my dir/futago", "serve"])
        );
    }

    #[test]
    fn templates_without_a_host_or_with_open_quotes_are_refused() {
        for template in ["", "ssh", "ssh '{host}"] {
            assert!(Launcher::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn host_files_may_have_comments_and_slots() {
        assert_eq!(
            parse_hosts("# ours\nn1 slots=4\n\n n2 # slow\n").unwrap(),
            ["n1", "n2"]
        );
        assert!(parse_hosts("# none\n").is_err());
        assert!(parse_hosts("-oProxyCommand=x\n").is_err());
    }
}
