//! How long threads may compute while others wait for the core.
//!
//! A message passes through several threads, each of which computes for some microseconds. On a
//! core that a program keeps busy, each thread waits until the program's time slice is over: 3 ms
//! and more with Linux's default. A thread with a shorter slice gets the core earlier, and not more
//! of it (EEVDF: Stoica and Abdel-Wahab, *Earliest Eligible Virtual Deadline First*, 1995; custom
//! slices since Linux 6.12, `__setparam_fair` in kernel/sched/syscalls.c).

use std::io;
use std::mem::{size_of, zeroed};

/// The shortest slice that Linux grants.
const SLICE_NS: u64 = 100_000;
/// The attributes since their first version, which all kernels know.
const ATTRIBUTES_BYTES: u32 = size_of::<libc::sched_attr>() as u32;

/// Shortens the time slice of the calling thread, and of the threads that it starts. A failure is
/// ignored, and kernels before Linux 6.12 change nothing.
pub fn shorten() {
    if let Ok(attributes) = attributes()
        && attributes.sched_policy == libc::SCHED_OTHER as u32
    {
        set(&libc::sched_attr {
            sched_runtime: SLICE_NS,
            ..attributes
        })
        .ok();
    }
}

/// How the calling thread is scheduled.
fn attributes() -> io::Result<libc::sched_attr> {
    // SAFETY: all fields are numbers, of which any value is valid.
    let mut attributes: libc::sched_attr = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the given number of bytes to the structure, which has them.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            0,
            &raw mut attributes,
            ATTRIBUTES_BYTES,
            0,
        )
    };
    outcome(failed).map(|()| attributes)
}

fn set(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the structure says in its first field: its size.
    outcome(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) })
}

fn outcome(failed: libc::c_long) -> io::Result<()> {
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_and_those_that_it_starts_have_short_slices() {
        let scheduled = |attributes: libc::sched_attr| {
            let libc::sched_attr {
                sched_policy,
                sched_nice,
                sched_runtime,
                ..
            } = attributes;
            (sched_policy, sched_nice, sched_runtime)
        };
        let (policy, nice, before) = scheduled(attributes().expect("attributes"));
        let shortened = thread::spawn(|| {
            shorten();
            thread::spawn(attributes).join().expect("a thread")
        });
        let after = shortened.join().expect("a thread").expect("attributes");
        // Kernels without custom slices tell of none.
        let expected = if before == 0 { 0 } else { SLICE_NS };
        assert_eq!(scheduled(after), (policy, nice, expected));
    }
}
