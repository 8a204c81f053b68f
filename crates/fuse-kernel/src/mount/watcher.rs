//! A process that unmounts after its server has died, even by SIGKILL.
//!
//! fusermount3 has an `auto_unmount`, but it leaves a user's mount without `allow_other`: it checks
//! the mount with root's rights, which FUSE denies.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A line means an orderly end; end of file means that the server has died.
const SCRIPT: &str = r#"
    trap '' HUP INT TERM
    read -r line || umount -l "$1" || fusermount3 -u -z -- "$1"
"#;

/// The process and the pipe that only this process holds open.
#[derive(Debug)]
pub(super) struct Watcher(Child);

impl Watcher {
    /// Starts it in a process group of its own, so that Ctrl-C does not reach it.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "futago-unmount"])
            .arg(path)
            .current_dir("/")
            .process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().map(Self)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"unmounted\n");
        }
        let _ = self.0.wait();
    }
}
