//! How long threads may compute while others wait for the core.
//!
//! A message passes through several threads, each of which computes for some microseconds. On a
//! core that a program keeps busy, each thread waits until the program's time slice is over: 3 ms
//! and more with Linux's default. A thread with a shorter slice gets the core earlier, and not more
//! of it (EEVDF: Stoica and Abdel-Wahab, *Earliest Eligible Virtual Deadline First*, 1995; custom
//! slices since Linux 6.12, `__setparam_fair` in kernel/sched/syscalls.c).

use std::{
    cell::Cell,
    io,
    mem::{size_of, zeroed},
};

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

/// Shortens the time slice of a thread that is about to poll for its reply, the first time it does.
/// Linux puts a thread that yields back by its slice: with the default of a millisecond and more,
/// it gets the core after servers with short slices have had it ten times (`yield_task_fair` in
/// kernel/sched/fair.c).
pub fn shorten_once() {
    thread_local! {
        static IS_SHORT: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_SHORT.replace(true) {
        shorten();
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
    use crate::{
        Cluster, Options, ServerEntry,
        blocking::FileSystem,
        server::{Config, Servers},
    };
    use futago_base::ServerId;
    use futago_transport::Address;
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

    #[test]
    fn a_thread_that_polls_for_a_reply_has_a_short_slice() {
        let directory = tempfile::tempdir().expect("a directory");
        let server = ServerEntry {
            address: Address::Unix(directory.path().join("server.sock")),
            host: None,
            process: 0,
        };
        let cluster = Cluster::new("test", vec![server]).expect("a cluster");
        let _servers = Servers::start(&Config {
            cluster: cluster.clone(),
            servers: vec![ServerId(0)],
            memory_bytes: 1 << 24,
            root_owner: (0, 0),
        });
        let called = thread::spawn(move || {
            let before = attributes().expect("attributes").sched_runtime;
            let files = FileSystem::connect(&cluster, Options::default()).expect("a client");
            // The first call connects, and leaves waiting for its reply to the client's thread.
            for name in ["/a", "/b"] {
                files
                    .create_directory(name.as_bytes(), 0o755)
                    .expect("a directory");
            }
            (before, attributes().expect("attributes").sched_runtime)
        });
        let (before, after) = called.join().expect("a thread");
        assert_eq!(after, if before == 0 { 0 } else { SLICE_NS });
    }
}
