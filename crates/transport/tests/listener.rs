//! Sockets and their files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_transport::{Address, Listener, Stream};
use std::{io::ErrorKind, os::unix::fs::PermissionsExt};

fn on_a_runtime<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

#[test]
fn a_socket_file_is_for_its_owner_and_goes_with_the_listener() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    on_a_runtime(async {
        let listener = Listener::bind(&Address::Unix(path.clone())).await.unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
    });
}

#[test]
fn a_left_over_socket_file_is_replaced_and_a_live_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let address = Address::Unix(path.clone());
    // A listener that is killed leaves its file.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    on_a_runtime(async {
        let _live = Listener::bind(&address).await.unwrap();
        let error = Listener::bind(&address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(Stream::connect(&address).await.is_ok());
    });
}

#[test]
fn what_is_no_socket_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious");
    std::fs::write(&path, "data").unwrap();
    on_a_runtime(async {
        assert!(Listener::bind(&Address::Unix(path.clone())).await.is_err());
    });
    assert_eq!(std::fs::read(&path).unwrap(), b"data");
}

#[test]
fn a_port_that_the_system_chooses_is_reported() {
    on_a_runtime(async {
        let any = "tcp:127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&any).await.unwrap();
        let address = listener.address().unwrap();
        assert_ne!(address, any);
        let (ours, theirs) = tokio::join!(Stream::connect(&address), listener.accept());
        for stream in [ours.unwrap(), theirs.unwrap()] {
            assert!(matches!(stream, Stream::Tcp(socket) if socket.nodelay().unwrap()));
        }
    });
}
