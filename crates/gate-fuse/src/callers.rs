//! The threads that send requests, as `/proc` shows them.
//!
//! A thread in another pid namespace has the number 0. The files of other users' threads may be
//! closed to this process, or hidden from it (`hidepid` in proc(5)).

use std::fs;
use std::io;

/// SIGKILL's bit in the masks of `/proc/PID/status`.
const KILL_BIT: u64 = 1 << (libc::SIGKILL - 1);

/// Whether a thread has a SIGKILL pending, as every thread of a killed process has, or is gone.
/// `false` if that is not known.
pub fn is_being_killed(thread: u32) -> bool {
    thread != 0 && is_killed(read(thread, "status"), || exists(thread))
}

/// The contents of a file of a thread in `/proc`.
pub fn read(thread: u32, name: &str) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{thread}/{name}"))
}

/// Whether a thread exists. A signal to a thread of another user is refused only if it does.
pub fn exists(thread: u32) -> bool {
    let Ok(thread @ 1..) = libc::pid_t::try_from(thread) else {
        return false;
    };
    // SAFETY: signal 0 is not delivered.
    let sent = unsafe { libc::kill(thread, 0) };
    sent == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

fn is_killed(status: io::Result<String>, exists: impl FnOnce() -> bool) -> bool {
    match status {
        Ok(status) => has_kill_pending(&status),
        Err(_) => !exists(),
    }
}

fn has_kill_pending(status: &str) -> bool {
    let masks = status.lines().filter_map(|line| {
        line.strip_prefix("SigPnd:")
            .or(line.strip_prefix("ShdPnd:"))
    });
    masks
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask & KILL_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_pending_kill_is_seen_and_other_signals_are_not() {
        let status = |own: u64, shared: u64| {
            format!("Name:\tx\nSigPnd:\t{own:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t0100\n")
        };
        assert!(has_kill_pending(&status(0x100, 0)));
        assert!(has_kill_pending(&status(0, 0x102)));
        assert!(!has_kill_pending(&status(0x2, 0x4000)));
    }

    #[test]
    fn this_thread_is_not_being_killed_and_no_thread_is_gone() {
        assert!(!is_being_killed(std::process::id()));
        assert!(!is_being_killed(0));
        assert!(is_being_killed(u32::MAX));
        assert!(exists(std::process::id()) && exists(1));
        assert!(!exists(0) && !exists(u32::MAX) && !exists(i32::MAX as u32));
    }

    /// `hidepid` closes the files of other users' threads, or hides them.
    #[test]
    fn a_thread_whose_status_cannot_be_read_is_not_being_killed() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::NotFound] {
            assert!(!is_killed(Err(kind.into()), || true));
            assert!(is_killed(Err(kind.into()), || false));
        }
    }
}
