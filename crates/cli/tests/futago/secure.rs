//! Traffic on the network between the processes of a secure cluster.

use crate::common::{Cluster, mounted, write};
use futago_transport::Address;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A network between clients and a server: it records what passes, and damages a byte on
/// request.
#[derive(Clone, Default)]
struct Network {
    recorded: Arc<Mutex<Vec<u8>>>,
    damages: Arc<AtomicBool>,
}

/// Pieces of at least so many bytes are damaged: they hold data.
const DAMAGED_BYTES: usize = 10_000;

impl Network {
    /// Carries connections to a server. Returns the port that it is reached at.
    fn carry_to(&self, server: String) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = self.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&server) else {
                    continue;
                };
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (there, back) = (network.clone(), network.clone());
                thread::spawn(move || there.carry(near, far));
                thread::spawn(move || back.carry(far_too, near_too));
            }
        });
        port
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 1 << 16];
        while let Ok(count) = from.read(&mut buffer)
            && count > 0
        {
            let bytes = &mut buffer[..count];
            self.recorded.lock().unwrap().extend_from_slice(bytes);
            if count >= DAMAGED_BYTES && self.damages.swap(false, Ordering::Relaxed) {
                bytes[count / 2] ^= 1;
            }
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }

    fn has_carried(&self, wanted: &[u8]) -> bool {
        let recorded = self.recorded.lock().unwrap();
        recorded.windows(wanted.len()).any(|bytes| bytes == wanted)
    }
}

/// A cluster file whose users reach the only server through a network.
fn through(network: &Network, cluster: &Cluster, secure: bool) -> PathBuf {
    let mut elsewhere = cluster.load();
    let Address::Tcp(server) = elsewhere.servers[0].address.clone() else {
        panic!("it has no port");
    };
    let port = network.carry_to(server);
    elsewhere.servers[0].address = Address::Tcp(format!("127.0.0.1:{port}"));
    elsewhere.secure = secure;
    let path = cluster.path(&format!("elsewhere-{port}.toml"));
    elsewhere.create(&path).unwrap();
    path
}

fn put_and_get(cluster: &Cluster, file: &Path, contents: &[u8]) {
    write(&cluster.path("in"), contents);
    let (from, to) = (cluster.path("in"), cluster.path("out"));
    let _ = std::fs::remove_file(&to);
    let run = |arguments: &[&str]| {
        let mut command = cluster.command(arguments);
        command.env("FUTAGO_CLUSTER", file).assert().success();
    };
    run(&["put", from.to_str().unwrap(), "/file"]);
    run(&["get", "/file", to.to_str().unwrap()]);
    assert!(std::fs::read(&to).unwrap() == contents);
    run(&["rm", "/file"]);
}

const SECRET: &[u8] = b"a text that no network should show";

#[test]
fn a_network_sees_what_is_in_files_only_without_secure() {
    for arguments in [
        &["--transport", "tcp"][..],
        &["--transport", "tcp", "--secure"],
    ] {
        let is_secure = arguments.len() > 2;
        let cluster = Cluster::up(arguments);
        let network = Network::default();
        let file = through(&network, &cluster, is_secure);
        put_and_get(&cluster, &file, &SECRET.repeat(5000));
        assert_ne!(network.has_carried(SECRET), is_secure);
    }
}

#[test]
fn a_mount_of_a_secure_cluster_works_through_a_network() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let cluster = Cluster::up(&["--transport", "tcp", "--secure"]);
    let network = Network::default();
    let file = through(&network, &cluster, true);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    let mut mount = cluster.command(&["mount", point.to_str().unwrap()]);
    mount.env("FUTAGO_CLUSTER", &file).assert().success();
    assert!(mounted(&point));
    let contents = SECRET.repeat(100_000);
    write(&point.join("file"), &contents);
    assert!(std::fs::read(point.join("file")).unwrap() == contents);
    cluster
        .command(&["umount", point.to_str().unwrap()])
        .assert()
        .success();
    assert!(!network.has_carried(SECRET));
}

#[test]
fn a_damaged_byte_is_noticed_and_costs_nothing_but_the_connection() {
    let cluster = Cluster::up(&["--transport", "tcp", "--secure"]);
    let network = Network::default();
    let file = through(&network, &cluster, true);
    let contents: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
    for _ in 0..3 {
        network.damages.store(true, Ordering::Relaxed);
        put_and_get(&cluster, &file, &contents);
        assert!(!network.damages.load(Ordering::Relaxed));
    }
}

#[test]
fn who_is_secure_alone_gets_an_error() {
    for up_is_secure in [true, false] {
        let up: &[&str] = if up_is_secure { &["--secure"] } else { &[] };
        let cluster = Cluster::up(&[&["--transport", "tcp"], up].concat());
        let file = through(&Network::default(), &cluster, !up_is_secure);
        let mut list = cluster.command(&["ls", "/"]);
        let refused = list.env("FUTAGO_CLUSTER", file).assert().code(4);
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(
            error.contains("connections are encrypted (secure = true)"),
            "{error}"
        );
    }
}

#[test]
fn status_tells_whether_a_cluster_is_secure() {
    let cluster = Cluster::up(&["--secure"]);
    let (_, status) = cluster.json(&["status"]);
    assert_eq!(status["secure"], true);
}
