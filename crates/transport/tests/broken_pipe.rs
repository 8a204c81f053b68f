//! A peer that is gone is an error, and no signal: a C program that uses a library of ours may have
//! the default action of `SIGPIPE`, which ends the process.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_transport::{Address, Listener, Stream};
use signal_hook::{consts::SIGPIPE, flag};
use std::{
    io::{self, IoSlice},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::io::AsyncWriteExt;

/// A stream whose peer has closed it.
async fn abandoned(address: &Address) -> Stream {
    let listener = Listener::bind(address).await.unwrap();
    let address = listener.address().unwrap();
    let (stream, peer) = tokio::join!(Stream::connect(&address), listener.accept());
    drop(peer.unwrap());
    stream.unwrap()
}

/// The error of writing to a stream until that fails for another reason than a lack of room.
async fn error_of_writing(stream: &mut Stream, is_vectored: bool) -> io::Error {
    loop {
        stream.writable().await.unwrap();
        let written = match is_vectored {
            true => stream.try_write_vectored(&[IoSlice::new(b"a"), IoSlice::new(b"b")]),
            false => stream.write(b"ab").await,
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return error,
            _ => {}
        }
    }
}

#[tokio::test]
async fn writing_to_a_peer_that_is_gone_raises_no_signal() {
    let was_raised = Arc::new(AtomicBool::new(false));
    flag::register(SIGPIPE, Arc::clone(&was_raised)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let addresses = [
        Address::Unix(directory.path().join("s")),
        Address::Tcp("127.0.0.1:0".into()),
    ];
    for address in &addresses {
        for is_vectored in [true, false] {
            let mut stream = abandoned(address).await;
            let mut last = error_of_writing(&mut stream, is_vectored).await;
            if last.kind() == io::ErrorKind::ConnectionReset {
                // TCP reports the reset first.
                last = error_of_writing(&mut stream, is_vectored).await;
            }
            assert_eq!(last.kind(), io::ErrorKind::BrokenPipe);
            let shown = format!("{address:?}, vectored: {is_vectored}");
            assert!(!was_raised.load(Ordering::Relaxed), "{shown}");
        }
    }
}
