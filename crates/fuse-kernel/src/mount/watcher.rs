//! A process that takes a mount away when its server ends without doing so, even by SIGKILL.
//!
//! fusermount3 has an `auto_unmount` of its own, but a user's mount without `allow_other` is
//! closed to it (it looks with root's rights, which FUSE denies), so that it leaves the mount.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A line means that all is well; the end of the file that the server is gone.
const SCRIPT: &str = r#"
    trap '' HUP INT TERM
    read -r line || umount -l "$1" || fusermount3 -u -z -- "$1"
"#;

/// The process and the pipe that only this process holds open.
#[derive(Debug)]
pub(super) struct Watcher(Child);

impl Watcher {
    /// Starts it in a process group of its own, out of reach of Ctrl-C.
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
