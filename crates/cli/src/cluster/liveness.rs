//! Whether mounts answer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    env, fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How a mount answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It does.
    Alive,
    /// Its process is gone.
    Dead,
    /// Not in time.
    Silent,
}

/// The output of a probing process if the mount's process is gone.
const DEAD: &str = "dead";

/// Asks a mount for its root's attributes, for as long as it takes, and says what came of it.
pub fn ask(mount: &Path) -> &'static str {
    match fs::metadata(mount) {
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => DEAD,
        _ => "alive",
    }
}

/// A probe of a mount by a process of its own. A process that waits for a file system that has
/// accepted its request cannot be killed, so it is left behind.
pub struct Question {
    /// The mount.
    pub mount: PathBuf,
    asking: Child,
}

impl Question {
    /// Begins to ask: the process is this program, as `futago doctor --ask MOUNT`.
    pub fn begin(mount: PathBuf) -> io::Result<Self> {
        let asking = Command::new(env::current_exe()?)
            .args(["doctor", "--ask"])
            .arg(&mount)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { mount, asking })
    }

    /// Waits for the answer until the deadline.
    pub fn hear(mut self, deadline: Instant) -> io::Result<Liveness> {
        let Some(mut said) = self.asking.stdout.take() else {
            return Ok(Liveness::Silent);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if poll(
            &mut [PollFd::new(&said, PollFlags::IN)],
            Some(&timespec(left)),
        )? == 0
        {
            return Ok(Liveness::Silent);
        }
        let mut answer = String::new();
        said.read_to_string(&mut answer)?;
        self.asking.wait()?;
        match answer.trim() {
            DEAD => Ok(Liveness::Dead),
            _ => Ok(Liveness::Alive),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
