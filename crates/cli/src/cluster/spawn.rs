//! Starting processes that outlive this one, and waiting until they say that they are ready.

use crate::{
    exit::{Exit, Problem},
    logs,
};
use anyhow::{Context, bail};
use rustix::{
    fs::MemfdFlags,
    process::{Pid, Signal, kill_process},
};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::{fs::FileExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A process that was started and its log.
pub struct Started {
    child: Child,
    /// Its standard output. It lies in memory, so that a full disk does not keep the process from
    /// saying that it is ready, or why it ends.
    said: File,
    log: PathBuf,
    /// Its role, for messages.
    what: String,
}

/// Whose session a process belongs to. Signals of a terminal do not reach it either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// A session of its own: the process outlives its parent.
    Own,
    /// The session of its parent, which it outlives all the same. Linux divides a core among
    /// sessions first (`sched_autogroup`), so processes that wait for each other run better in one.
    Shared,
}

/// Starts a command line with its standard error in a log file.
pub fn start(
    what: String,
    line: &[impl AsRef<OsStr>],
    log: &Path,
    input: Option<File>,
    session: Session,
) -> anyhow::Result<Started> {
    let (program, arguments) = line.split_first().context("an empty command line")?;
    // The log of an earlier process stays.
    let errors = File::options().create(true).append(true).open(log);
    let errors = errors.with_context(|| format!("making the log {}", log.display()))?;
    let said = File::from(rustix::fs::memfd_create(
        "futago-said",
        MemfdFlags::CLOEXEC,
    )?);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir("/")
        .env(logs::FORMAT_VARIABLE, logs::chosen_format())
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(said.try_clone()?)
        .stderr(errors);
    match session {
        Session::Shared => {
            command.process_group(0);
        }
        // SAFETY: setsid is async-signal-safe and touches nothing of this process.
        Session::Own => unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(())
            });
        },
    }
    let child = command
        .spawn()
        .with_context(|| format!("starting {what}: {}", program.as_ref().display()))?;
    Ok(Started {
        child,
        said,
        log: log.to_owned(),
        what,
    })
}

impl Started {
    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has said something. Fails if it has ended, with the end of its log.
    fn has_said(&mut self, is_said_by: fn(&str) -> bool) -> anyhow::Result<bool> {
        if self.said()?.lines().any(is_said_by) {
            return Ok(true);
        }
        if let Some(status) = self.child.try_wait()? {
            bail!("{}: {} ({status})", self.what, self.cause());
        }
        Ok(false)
    }

    /// Its standard output so far.
    fn said(&self) -> io::Result<String> {
        let mut bytes = vec![0; self.said.metadata()?.len() as usize];
        // The offset of the file belongs to the process.
        self.said.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Why it has ended: its last line, and then the ones before.
    fn cause(&self) -> String {
        let lines = self.last_lines();
        let (before, last) = lines.rsplit_once('\n').unwrap_or(("", &lines));
        let cause = last.strip_prefix("futago: ").unwrap_or(last);
        match (cause, before) {
            ("", _) => "it ended without a word".to_owned(),
            (cause, "") => cause.to_owned(),
            (cause, before) => format!("{cause}; before that:\n{before}\n"),
        }
    }

    /// The end of its log, and of what it has written to its standard output.
    fn last_lines(&self) -> String {
        let said = self.said().unwrap_or_default();
        let lines = said.lines().filter(|line| !logs::says_opening(line));
        last_lines(&self.log, &lines.collect::<Vec<_>>().join("\n"))
    }

    /// Has the process end by itself, kills it if it does not in time, and waits for it.
    pub fn end(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id())
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended already; it has not been waited for, so that its number is still
            // its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        let child = &mut self.child;
        wait_until(END_TIMEOUT, || !matches!(child.try_wait(), Ok(None)));
        self.kill();
    }

    /// Ends the process and waits for it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a log and of what follows it.
pub fn last_lines(log: &Path, rest: &str) -> String {
    let log = end_of(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&log).into_owned() + rest;
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// The last bytes of a log, which may be long.
pub fn end_of(log: &Path) -> io::Result<Vec<u8>> {
    let mut log = File::open(log)?;
    let start = log.metadata()?.len().saturating_sub(LAST_BYTES);
    log.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    log.take(LAST_BYTES).read_to_end(&mut end)?;
    Ok(end)
}

/// More than the last five lines of a log usually take.
const LAST_BYTES: u64 = 16 << 10;

/// A flag that SIGINT and SIGTERM raise from now on, instead of ending this process.
pub fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// Fails if the flag is raised.
///
/// # Errors
/// With [`Exit::Interrupted`].
pub fn ensure_uninterrupted(interrupted: &AtomicBool) -> anyhow::Result<()> {
    match interrupted.load(Ordering::Relaxed) {
        true => Err(Problem::error(Exit::Interrupted, "interrupted")),
        false => Ok(()),
    }
}

/// Sleeps, unless the flag is raised meanwhile.
///
/// # Errors
/// As [`ensure_uninterrupted`].
pub fn sleep(duration: Duration, interrupted: &AtomicBool) -> anyhow::Result<()> {
    let until = Instant::now() + duration;
    while Instant::now() < until {
        ensure_uninterrupted(interrupted)?;
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(INTERRUPTION_MAX));
    }
    ensure_uninterrupted(interrupted)
}

/// How long it may take until an interruption is seen.
const INTERRUPTION_MAX: Duration = Duration::from_millis(100);

/// How long a server that is ready may take to be reached.
pub const REACH_MAX: Duration = Duration::from_secs(10);

/// How long a process may take to end before it is killed.
pub const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a condition is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `done` holds; `false` if the time is over.
pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until all are ready.
pub fn wait_ready(
    started: &mut [Started],
    limit: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    wait_said(started, logs::says_ready, limit, interrupted)
}

/// Waits until all open their servers.
pub fn wait_opening(
    started: &mut [Started],
    limit: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    wait_said(started, logs::says_opening, limit, interrupted)
}

fn wait_said(
    started: &mut [Started],
    is_said_by: fn(&str) -> bool,
    limit: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    for process in started {
        ensure_uninterrupted(interrupted)?;
        while !process.has_said(is_said_by)? {
            ensure_uninterrupted(interrupted)?;
            if Instant::now() >= deadline {
                bail!(
                    "{} is not ready after {} s:\n{}",
                    process.what,
                    limit.as_secs(),
                    process.last_lines()
                );
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}
