//! Processes that are stopped for a while hear what has come meanwhile before they give up on
//! anybody.

use crate::common::{Cluster, futago, mount_process, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Stops a process for as long as this lives.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).unwrap();
        let stat = || procfs::process::Process::new(pid.as_raw_nonzero().get())?.stat();
        wait_for(|| stat().unwrap().state == 'T');
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

/// Waits until a thread of this process waits for something.
fn wait_until_it_waits(thread: i32) {
    let this = procfs::process::Process::myself().unwrap();
    wait_for(|| {
        let stat = this.task_from_tid(thread).unwrap().stat().unwrap();
        matches!(stat.state, 'S' | 'D')
    });
}

#[test]
fn a_mount_that_was_stopped_does_not_give_up_on_servers_that_have_answered() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let give_up = Duration::from_secs(3);
    for transport in ["unix", "tcp"] {
        let cluster = Cluster::up(&["--give-up", "3", "--transport", transport]);
        let point = cluster.path("mount");
        std::fs::create_dir(&point).unwrap();
        let mut mount = cluster.command(&["mount", "--options", "no_cache"]);
        mount.arg(&point).assert().success();
        std::fs::write(point.join("file"), b"").unwrap();
        let server = Pid::from_raw(cluster.process_id(0)).unwrap();

        let stopped_server = Stopped::new(server);
        let (begun, thread) = mpsc::channel();
        let path = point.join("file");
        let asking = thread::spawn(move || {
            begun.send(rustix::thread::gettid()).unwrap();
            std::fs::metadata(path)
        });
        wait_until_it_waits(thread.recv().unwrap().as_raw_nonzero().get());
        let stopped_mount = Stopped::new(mount_process(&point));
        drop(stopped_server);
        // The pause itself is what is tested: it is longer than the mount waits for an answer.
        let end = Instant::now() + give_up + Duration::from_secs(1);
        while Instant::now() < end {
            thread::sleep(end.saturating_duration_since(Instant::now()));
        }
        drop(stopped_mount);
        let answer = asking.join().unwrap();
        assert!(answer.is_ok(), "over {transport}: {answer:?}");
        futago().arg("umount").arg(&point).assert().success();
    }
}
