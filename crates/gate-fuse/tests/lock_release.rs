//! Locks of files that are closed while their server cannot be reached.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::{can_mount, client};
use futago_base::record::{LockKind, LockRange, LockSpace};
use futago_base::{Errno, FileId, ServerId};
use futago_gate_fuse::{Options, UnmountMode, mount};
use futago_node::server::{Config, Servers};
use futago_node::{Cluster, Futago, ServerEntry};
use futago_transport::Address;
use futago_wire::LockChange;
use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A line to a server that can be cut.
struct Line {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    ends: Vec<TcpStream>,
}

impl Line {
    fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.expect("a connection");
                let mut state = shared.lock().expect("a state");
                if !state.is_cut {
                    let far = TcpStream::connect(&server).expect("a server");
                    copy_in_background(&near, &far);
                    copy_in_background(&far, &near);
                    state.ends.extend([near, far]);
                }
            }
        });
        Self { address, state }
    }

    fn cut(&self, is_cut: bool) {
        let mut state = self.state.lock().expect("a state");
        state.is_cut = is_cut;
        for end in state.ends.drain(..) {
            // The other end may be gone already.
            end.shutdown(Shutdown::Both).ok();
        }
    }
}

fn copy_in_background(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().expect("from"), to.try_clone().expect("to"));
    thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Both).ok();
    });
}

/// A cluster of one server, and the same cluster at the other end of a line.
fn start() -> (Servers, Cluster, Line, Cluster) {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address").to_string();
    drop(port);
    let entry = ServerEntry {
        address: Address::Tcp(address.clone()),
        host: None,
        process: 0,
    };
    let near = Cluster::new("test", vec![entry]).expect("a cluster");
    let servers = Servers::start(&Config {
        cluster: near.clone(),
        servers: vec![ServerId(0)],
        memory_bytes: 1 << 30,
        root_owner: (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        ),
    });
    let line = Line::to(address);
    let mut far = near.clone();
    far.servers[0].address = Address::Tcp(line.address.clone());
    far.limits.give_up_seconds = 0.5;
    (servers.expect("servers"), near, line, far)
}

fn take_range_lock(file: &File) {
    // SAFETY: the record is plain numbers, and the descriptor is open.
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock)
    };
    assert_eq!(result, 0);
}

fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor has no other owner any more.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until another client gets the lock.
fn wait_for_lock(client: &Futago, id: FileId) {
    let lock = LockChange {
        space: LockSpace::Range,
        kind: Some(LockKind::Exclusive),
        owner: 1,
        range: LockRange {
            start: 0,
            end: u64::MAX,
        },
        pid: 1,
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let set = client.run_blocking(async |client| client.set_lock(id, lock, None).await);
        match set.expect("a client") {
            Ok(()) => return,
            Err(errno) => assert_eq!(errno, Errno::EAGAIN),
        }
        assert!(Instant::now() < deadline, "the lock is never released");
    }
}

#[test]
fn a_lock_whose_release_fails_at_close_is_released_later() {
    if !can_mount() {
        return;
    }
    let (_servers, near, line, far) = start();
    let point = TempDir::new().expect("folder");
    let mounted = mount(client(&far), point.path(), &Options::default());
    let mounted = mounted.expect("a mount");
    let file = File::create(point.path().join("file")).expect("made");
    let id = FileId(file.metadata().expect("attributes").ino());
    take_range_lock(&file);
    line.cut(true);
    let closed = close(file).expect_err("the server cannot be reached");
    assert_eq!(closed.raw_os_error(), Some(libc::EIO));
    line.cut(false);
    wait_for_lock(&client(&near), id);
    mounted.unmount(UnmountMode::Lazy).expect("unmounted");
}
