//! `futago doctor`: the requirements that this host lacks.

use crate::{
    cluster::{
        liveness::{self, Liveness, Question},
        mounts,
    },
    exit::Exit,
    output,
};
use clap::Args;
use rustix::process::{Resource, geteuid, getrlimit};
use serde::Serialize;
use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Arguments of `doctor`.
#[derive(Args)]
pub struct Doctor {
    /// How long mounts may take to answer, in seconds.
    #[arg(long = "patience", value_name = "SECONDS", default_value_t = 5)]
    limit_s: u64,
    /// Only ask a mount, for as long as it takes.
    #[arg(long, hide = true, value_name = "MOUNT")]
    ask: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Ok,
    /// Something will be slower or not possible.
    Limited,
    /// Something needed is not there.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    advice: Option<&'static str>,
}

impl Check {
    fn new(name: &'static str, found: String, verdict: Result<(), (State, &'static str)>) -> Self {
        let (state, advice) = match verdict {
            Ok(()) => (State::Ok, None),
            Err((state, advice)) => (state, Some(advice)),
        };
        Self {
            name,
            state,
            found,
            advice,
        }
    }
}

/// Descriptors that a server with many clients needs.
const DESCRIPTORS: u64 = 16_384;

impl Doctor {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Looks at everything; ends with 1 if something needed is missing.
    pub fn run(self) -> anyhow::Result<Exit> {
        if let Some(mount) = self.ask {
            output::write_all(format!("{}\n", liveness::ask(&mount)).as_bytes())?;
            return Ok(Exit::Success);
        }
        let checks = [
            fuse_device(),
            fusermount(),
            user_allow_other(),
            descriptors(),
            shared_memory(),
            memory(),
            runtime_directory(),
            mounts_answer(Duration::from_secs(self.limit_s)),
        ];
        output::print(self.json, &checks, |checks| {
            checks.iter().map(line).collect()
        })?;
        let missing = checks.iter().any(|check| check.state == State::Missing);
        Ok(if missing { Exit::Wrong } else { Exit::Success })
    }
}

fn line(check: &Check) -> String {
    let state = match check.state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "MISSING",
    };
    let advice = check
        .advice
        .map(|advice| format!("\n{:9}{advice}", ""))
        .unwrap_or_default();
    format!("{state:8} {}: {}{advice}\n", check.name, check.found)
}

fn fuse_device() -> Check {
    let opened = fs::File::options().read(true).write(true).open("/dev/fuse");
    let found = match &opened {
        Ok(_) => "/dev/fuse can be opened".to_owned(),
        Err(error) => format!("/dev/fuse: {error}"),
    };
    let advice = "modprobe fuse, give the container the device, or chmod 666 it; without it nothing is mounted";
    Check::new(
        "fuse device",
        found,
        opened.map(drop).map_err(|_| (State::Missing, advice)),
    )
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| {
            fs::metadata(file)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}

fn fusermount() -> Check {
    let program = find_program("fusermount3");
    let found = program
        .as_ref()
        .map_or_else(|| "not found".to_owned(), |p| p.display().to_string());
    let state = if geteuid().is_root() {
        State::Limited
    } else {
        State::Missing
    };
    let advice = "install the package fuse3; users who are not root mount through it";
    Check::new(
        "fusermount3",
        found,
        program.map(drop).ok_or((state, advice)),
    )
}

fn user_allow_other() -> Check {
    let text = fs::read_to_string("/etc/fuse.conf").unwrap_or_default();
    let set = geteuid().is_root() || text.lines().any(|line| line.trim() == "user_allow_other");
    let found = if set {
        "other users may use a mount"
    } else {
        "not set in /etc/fuse.conf"
    };
    let advice = "add user_allow_other to /etc/fuse.conf, or mounts serve nobody but you";
    Check::new(
        "user_allow_other",
        found.to_owned(),
        set.then_some(()).ok_or((State::Limited, advice)),
    )
}

fn descriptors() -> Check {
    let limit = getrlimit(Resource::Nofile).maximum;
    let enough = limit.is_none_or(|limit| limit >= DESCRIPTORS);
    let found = limit.map_or_else(|| "no limit".to_owned(), |limit| format!("at most {limit}"));
    let advice = "raise the hard limit of open files (ulimit -Hn) to serve many clients";
    Check::new(
        "open files",
        found,
        enough.then_some(()).ok_or((State::Limited, advice)),
    )
}

fn shared_memory() -> Check {
    let directory = Path::new("/dev/shm");
    let usable = tempfile::tempfile_in(directory);
    let found = match &usable {
        Ok(_) => "/dev/shm can be written".to_owned(),
        Err(error) => format!("/dev/shm: {error}"),
    };
    let advice = "mount a tmpfs at /dev/shm";
    Check::new(
        "shared memory",
        found,
        usable.map(drop).map_err(|_| (State::Limited, advice)),
    )
}

fn memory() -> Check {
    let Some(available) = futago_store::available_memory_bytes() else {
        let advice = "mount /proc, or say --memory when starting a cluster";
        return Check::new(
            "memory",
            "unknown".to_owned(),
            Err((State::Limited, advice)),
        );
    };
    let found = format!(
        "{} left, control groups considered",
        output::size(available)
    );
    let advice =
        "less than 1 GiB is left: free memory, or raise the memory limit of the control group";
    Check::new(
        "memory",
        found,
        (available >= 1 << 30)
            .then_some(())
            .ok_or((State::Limited, advice)),
    )
}

fn runtime_directory() -> Check {
    let directory = crate::cluster::runtime_directory::choose("doctor", true);
    let parent = directory.parent().unwrap_or(Path::new("/tmp"));
    let usable = tempfile::tempdir_in(parent);
    let found = match &usable {
        Ok(_) => format!("{} can be written", parent.display()),
        Err(error) => format!("{}: {error}", parent.display()),
    };
    let advice = "set XDG_RUNTIME_DIR to a directory of your own";
    Check::new(
        "runtime directory",
        found,
        usable.map(drop).map_err(|_| (State::Missing, advice)),
    )
}

fn mounts_answer(limit: Duration) -> Check {
    let deadline = Instant::now() + limit;
    // All are asked before the first is waited for.
    let asked: Vec<_> = mounts::list().into_iter().map(Question::begin).collect();
    let answers = asked.into_iter().map(|question| {
        let question = question?;
        let mount = question.mount.display().to_string();
        Ok(complaint(&mount, question.hear(deadline)?))
    });
    let complaints = answers.filter_map(|answer: io::Result<_>| {
        answer.unwrap_or_else(|error| Some(format!("a mount cannot be asked: {error}")))
    });
    let complaints: Vec<String> = complaints.collect();
    let well = complaints.is_empty();
    let found = if well {
        "all answer".to_owned()
    } else {
        complaints.join(", ")
    };
    let advice =
        "take dead ones away with futago umount --lazy, and those whose process hangs, too";
    Check::new(
        "mounts",
        found,
        well.then_some(()).ok_or((State::Limited, advice)),
    )
}

fn complaint(mount: &str, liveness: Liveness) -> Option<String> {
    match liveness {
        Liveness::Alive => None,
        Liveness::Dead => Some(format!("the process of {mount} is gone")),
        Liveness::Silent => Some(format!("{mount} does not answer")),
    }
}
