//! Real servers and clients in one process: threads, sockets, the key, the library.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{Errno, Kind, Payload, ServerId, record::LockKind};
use futago_client::Context;
use futago_files::Credentials;
use futago_node::{
    Cluster, Options, Recorder, ServerEntry, Starter,
    blocking::{File, FileSystem, OpenOptions},
    server::{Config, Servers, Status},
};
use futago_transport::{Address, ClusterKey};
use futago_wire::{Reply, Request};
use std::{
    future::Ready,
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    iter,
    pin::pin,
    sync::{Arc, mpsc},
    thread::{self, ThreadId},
};
use tempfile::TempDir;

struct Running {
    cluster: Cluster,
    servers: Vec<Servers>,
    directory: TempDir,
}

/// Starts servers on Unix sockets, each as a "process" of its own.
fn start(count: u16) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = |n| ServerEntry {
        address: Address::Unix(directory.path().join(format!("{n}.sock"))),
        host: None,
        process: u32::from(n),
    };
    let cluster = Cluster::new("test", (0..count).map(entry).collect()).unwrap();
    let server = |n| {
        let config = Config {
            cluster: cluster.clone(),
            servers: vec![ServerId(n)],
            memory_bytes: 1 << 30,
            root_owner: (0, 0),
        };
        Servers::start(&config).unwrap()
    };
    let servers = (0..count).map(server).collect();
    Running {
        cluster,
        servers,
        directory,
    }
}

fn client(running: &Running) -> FileSystem {
    FileSystem::connect(&running.cluster, Options::default()).unwrap()
}

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// One operation transfers more than one message carries, and partial chunks at both ends.
#[test]
fn transfers_are_as_large_as_programs_like() {
    let running = start(3);
    let (one, two) = (client(&running), client(&running));
    let data = |from: u32, bytes: u32| -> Bytes {
        (from..from + bytes).map(|n| (n / 3 % 251) as u8).collect()
    };
    let (offset, length, more) = (12_345, (21 << 20) + 77, (9 << 20) + 5);
    let file = one.open(b"/f", NEW).unwrap();
    file.write_at(offset.into(), data(offset, length)).unwrap();
    let end = file.append(data(offset + length, more)).unwrap();
    assert_eq!(end, u64::from(offset + length));
    let read = two.open(b"/f", OpenOptions::default()).unwrap();
    let whole = read.read_at(offset.into(), u32::MAX).unwrap();
    assert!(
        whole == data(offset, length + more),
        "{} bytes",
        whole.len()
    );
    let inner = read.read_at(u64::from(offset) + 5, length).unwrap();
    assert!(inner == data(offset + 5, length));
}

/// A file that is opened with `create` has one opener, whether it existed or not.
#[test]
fn a_removed_file_that_was_opened_with_create_ends_with_its_close() {
    let running = start(2);
    let client = client(&running);
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let new = client.open(b"/f", create).unwrap();
    new.close().unwrap();
    let files = client.space().unwrap().files;
    let existing = client.open(b"/f", create).unwrap();
    existing.close().unwrap();
    client.remove_file(b"/f").unwrap();
    assert_eq!(client.space().unwrap().files, files - 1);
}

/// Every file that has written hears of a loss, also after another one was dropped.
#[test]
fn a_loss_is_reported_by_every_file_that_has_written() {
    let mut running = start(1);
    running.cluster.limits.give_up_seconds = 0.5;
    let client = FileSystem::connect(&running.cluster, leasing()).unwrap();
    let again = || client.open(b"/f", OpenOptions::default()).unwrap();
    let writers = [client.open(b"/f", NEW).unwrap(), again()];
    let (reader, dropped) = (again(), again());
    for _ in 0..8 {
        let written = |file: &File| file.write_at(0, "buffered".into()).unwrap();
        writers.iter().for_each(written);
    }
    running.servers.pop().unwrap().stop().unwrap();
    drop(dropped);
    for file in &writers {
        assert_eq!(file.synchronize().unwrap_err().raw_os_error(), Some(5));
        file.synchronize().unwrap();
    }
    reader.synchronize().unwrap();
}

#[test]
fn a_change_of_data_for_a_user_clears_set_user_id() {
    let running = start(1);
    let user = client(&running).on_behalf_of(Credentials {
        uid: 1000,
        gid: 1000,
    });
    let program = OpenOptions {
        mode: 0o4755,
        ..NEW
    };
    let mode = |path: &[u8]| user.metadata(path, true).unwrap().mode;
    let change = |path: &[u8], change: fn(&File)| {
        let file = user.open(path, program).unwrap();
        assert_eq!(mode(path), 0o4755);
        change(&file);
        mode(path)
    };
    let changes: [fn(&File); 3] = [
        |file| file.write_at(0, "data".into()).unwrap(),
        |file| file.append("data".into()).map(drop).unwrap(),
        |file| file.set_size(5).unwrap(),
    ];
    for (name, made) in [b"/a", b"/b", b"/c"].into_iter().zip(changes) {
        assert_eq!(change(name, made), 0o755);
    }
    user.open(b"/empty", program).unwrap();
    let truncate = OpenOptions {
        truncate: true,
        ..OpenOptions::default()
    };
    user.open(b"/empty", truncate).unwrap();
    assert_eq!(mode(b"/empty"), 0o755);
    assert_eq!(user.metadata(b"/empty", true).unwrap().uid, 1000);
}

#[test]
fn a_file_is_created_at_the_end_of_symbolic_links() {
    let running = start(1);
    let client = client(&running);
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    client.create_directory(b"/d", 0o755).unwrap();
    client.symlink(b"../d/second", b"/d/first").unwrap();
    client.symlink(b"/target", b"/d/second").unwrap();
    let file = client.open(b"/d/first", create).unwrap();
    let found = client.metadata(b"/target", false).unwrap();
    assert_eq!((found.kind, found.id), (Kind::File, file.id()));
    client.symlink(b"loop", b"/loop").unwrap();
    let error = client.open(b"/loop", create).map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::ELOOP.number()));
    let error = client.open(b"/d/first", NEW).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn a_file_is_read_and_written_at_its_position() {
    let running = start(1);
    let mut file = client(&running).open(b"/f", NEW).unwrap();
    file.write_all(b"hello, world").unwrap();
    assert_eq!(file.seek(SeekFrom::End(-5)).unwrap(), 7);
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "world");
    file.seek(SeekFrom::Current(-5)).unwrap();
    (&file).write_all(b"there").unwrap();
    assert_eq!(file.stream_position().unwrap(), 12);
    assert_eq!(file.read_at(0, 100).unwrap(), "hello, there");
    let error = file.seek(SeekFrom::Current(-13)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(file.stream_position().unwrap(), 12, "unchanged");
}

#[test]
fn a_lock_excludes_other_files_until_its_own_is_dropped() {
    let running = start(1);
    let (one, two) = (client(&running), client(&running));
    let holder = one.open(b"/f", NEW).unwrap();
    let [same, other] = [&one, &two].map(|client| {
        let read = OpenOptions::default();
        client.open(b"/f", read).unwrap()
    });
    holder.lock(LockKind::Exclusive).unwrap();
    assert!(!same.try_lock(LockKind::Shared).unwrap());
    assert!(!other.try_lock(LockKind::Shared).unwrap());
    let waiting = thread::spawn(move || other.lock(LockKind::Exclusive).map(|()| other));
    drop(holder);
    let other = waiting.join().unwrap().unwrap();
    assert!(!same.try_lock(LockKind::Shared).unwrap());
    other.unlock().unwrap();
    assert!(same.try_lock(LockKind::Shared).unwrap());
}

#[test]
fn a_slash_at_the_end_of_a_path_demands_a_directory() {
    let running = start(1);
    let client = client(&running);
    client.open(b"/f", NEW).unwrap();
    client.create_directory(b"/d/", 0o755).unwrap();
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let opened = |path: &[u8]| client.open(path, create).map(drop);
    let kinds = [
        (opened(b"/new/"), ErrorKind::NotFound),
        (opened(b"/f/"), ErrorKind::NotADirectory),
        (opened(b"/d/"), ErrorKind::IsADirectory),
        (client.remove_file(b"/f/"), ErrorKind::NotADirectory),
        (client.rename(b"/f/", b"/g"), ErrorKind::NotADirectory),
        (client.rename(b"/f", b"/g/"), ErrorKind::NotADirectory),
        (client.symlink(b"/f", b"/l/"), ErrorKind::NotFound),
    ];
    for (index, (outcome, kind)) in kinds.into_iter().enumerate() {
        assert_eq!(outcome.unwrap_err().kind(), kind, "{index}");
    }
    client.rename(b"/d/", b"/e/").unwrap();
    client.remove_directory(b"/e/").unwrap();
    assert_eq!(client.read_directory(b"/").unwrap().len(), 1);
}

/// The keep-alives of both clients are due at the same times.
#[test]
fn a_client_sends_nothing_before_its_first_operation() {
    let running = start(1);
    let (_unused, used) = (client(&running), client(&running));
    let status = || {
        let asked = used.run(async |client| {
            let context = client.context();
            let (server, number) = (ServerId(0), context.next_sequence());
            let (request, data) = (Request::GetStatus, Payload::empty());
            let answer = context.call(server, number, request, data).await;
            answer.map_err(|_| Errno::EIO)
        });
        let (Reply::Bytes(text), _) = asked.unwrap() else {
            panic!("no status");
        };
        serde_json::from_slice::<Status>(&text).unwrap()
    };
    let has_heard_twice = |status: &Status| status.requests.get("keep_alive") >= Some(&2);
    let status = iter::repeat_with(status).find(has_heard_twice).unwrap();
    assert_eq!(status.connections, 1);
}

/// Such a path ends at a directory that its last name did not lead to.
#[test]
fn a_path_that_ends_in_dots_is_recorded_as_what_it_leads_to() {
    let running = start(1);
    let trace = running.directory.path().join("trace.jsonl");
    let recorder = Recorder::create(&trace).unwrap();
    let options = Options {
        recorder: Some(recorder.clone()),
        ..Options::default()
    };
    let files = FileSystem::connect(&running.cluster, options).unwrap();
    files.create_directory(b"/a", 0o755).unwrap();
    files.create_directory(b"/a/b", 0o755).unwrap();
    let id = files.metadata(b"/a/.", true).unwrap().id;
    assert_eq!(files.metadata(b"/a/b/..", true).unwrap().id, id);
    recorder.end().unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    let asked = format!("{{\"get-attributes\":{{\"file\":{}}}}}", id.0);
    assert_eq!(text.matches(&asked).count(), 1, "{text}");
}

#[test]
fn two_clients_share_files_that_span_servers() {
    let running = start(4);
    let (one, two) = (client(&running), client(&running));
    one.create_directory(b"/d", 0o755).unwrap();
    let file = one.open(b"/d/f", NEW).unwrap();
    let data: Bytes = (0..5 << 20).map(|n: u32| (n / 7) as u8).collect();
    file.write_at(0, data.clone()).unwrap();
    two.rename(b"/d/f", b"/g").unwrap();
    let read = two.open(b"/g", OpenOptions::default()).unwrap();
    assert_eq!(read.read_at(0, 4 << 20).unwrap(), data.slice(..4 << 20));
    assert_eq!(
        read.read_at(4 << 20, 4 << 20).unwrap(),
        data.slice(4 << 20..)
    );
    assert_eq!(
        one.metadata(b"/d/f", true).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    two.remove_file(b"/g").unwrap();
    assert_eq!(
        &file.read_at(0, 3).unwrap()[..],
        &data[..3],
        "an open file outlives its name"
    );
    file.close().unwrap();
    two.remove_directory(b"/d").unwrap();
    assert!(two.read_directory(b"/").unwrap().is_empty());
}

/// A client buffers its writes to several chunks and servers. Another client reads them, and then
/// both write alternately.
#[test]
fn buffered_writes_are_found_by_other_clients() {
    const PIECE: usize = 100_000;
    const PIECES: usize = 25;
    let running = start(3);
    let options = || Options {
        leases: true,
        ..Options::default()
    };
    let connect = || FileSystem::connect(&running.cluster, options()).unwrap();
    let (one, two) = (connect(), connect());
    let file = one.open(b"/f", NEW).unwrap();
    let mut expected = vec![0; PIECE * PIECES];
    // Every seventh piece first, so that the pieces are apart.
    for number in 0..PIECES {
        let (at, byte) = (number * 7 % PIECES * PIECE, number as u8 + 1);
        expected[at..at + PIECE].fill(byte);
        let data = Bytes::from(vec![byte; PIECE]);
        file.write_at(at as u64, data).unwrap();
    }
    let other = two.open(b"/f", OpenOptions::default()).unwrap();
    assert_eq!(other.metadata().unwrap().size, expected.len() as u64);
    assert!(other.read_at(0, u32::MAX).unwrap() == expected);
    for round in 0..6_u8 {
        let writer = [&file, &other][usize::from(round % 2)];
        let at = usize::from(round) * 350_000;
        expected[at..at + 5].fill(round);
        let data = Bytes::from(vec![round; 5]);
        writer.write_at(at as u64, data).unwrap();
        for reader in [&file, &other] {
            let seen = reader.read_at(at as u64, 10).unwrap();
            assert!(seen == expected[at..at + 10], "{round}: {seen:?}");
        }
    }
    file.synchronize().unwrap();
    file.close().unwrap();
}

#[test]
fn a_listing_is_complete_over_all_buckets() {
    let running = start(4);
    let fs = client(&running);
    fs.create_directory(b"/d", 0o755).unwrap();
    for n in 0..2000 {
        fs.open(format!("/d/{n}").as_bytes(), NEW)
            .unwrap()
            .close()
            .unwrap();
    }
    let mut names: Vec<u32> = fs
        .read_directory(b"/d")
        .unwrap()
        .iter()
        .map(|listed| {
            assert_eq!(listed.attributes.unwrap().kind, Kind::File);
            std::str::from_utf8(listed.name.as_bytes())
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    names.sort_unstable();
    assert_eq!(names, (0..2000).collect::<Vec<_>>());
}

#[test]
fn what_a_lost_server_held_fails_and_the_rest_goes_on() {
    let mut running = start(2);
    running.cluster.limits.give_up_seconds = 0.5;
    let fs = client(&running);
    for n in 0..8 {
        fs.create_directory(format!("/{n}").as_bytes(), 0o755)
            .unwrap();
        fs.open(format!("/{n}/f").as_bytes(), NEW)
            .unwrap()
            .write_at(0, "x".into())
            .unwrap();
    }
    running.servers.pop().unwrap().stop().unwrap();
    let outcome = |n: u32| {
        let file = fs.open(format!("/{n}/f").as_bytes(), OpenOptions::default())?;
        file.read_at(0, 1)
    };
    let outcomes: Vec<_> = (0..8).map(outcome).collect();
    let lost = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    assert!((1..8).contains(&lost), "{outcomes:?}");
    for outcome in outcomes {
        match outcome {
            Ok(data) => assert_eq!(&data[..], b"x"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(5), "{error}"),
        }
    }
}

#[test]
fn a_client_with_another_key_is_refused_at_once() {
    let mut running = start(1);
    // An operation that waited for the limit would hang here.
    running.cluster.limits.give_up_seconds = 1e6;
    running.cluster.key = ClusterKey::generate().unwrap();
    let error = client(&running).metadata(b"/", true).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5));
}

#[test]
fn calling_threads_and_spawned_operations_share_one_client() {
    let running = start(2);
    let fs = client(&running);
    let (report, reports) = mpsc::channel();
    let work = |thread: u32| {
        for n in 0..100 {
            let path = format!("/{thread}-{n}");
            drop(fs.open(path.as_bytes(), NEW).unwrap());
            let report = report.clone();
            fs.futago().spawn(async move |client| {
                let found = client.resolve(path.as_bytes(), true).await;
                report.send(found.is_ok()).unwrap();
            });
        }
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    assert!(reports.iter().take(400).all(|found| found));
    assert_eq!(fs.read_directory(b"/").unwrap().len(), 400);
}

/// Some of these operations wait for a server and end on the client's thread, others end where they
/// begin.
#[test]
fn operations_end_although_the_beginning_threads_do_not_wait() {
    let running = start(2);
    let fs = FileSystem::connect(&running.cluster, leasing()).unwrap();
    drop(fs.open(b"/f", NEW).unwrap());
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..4 {
            let (report, starter) = (report.clone(), fs.futago().starter());
            scope.spawn(move || {
                for _ in 0..100 {
                    begin_to_resolve(&starter, report.clone());
                }
            });
        }
    });
    drop(report);
    let ends: Vec<_> = reports.iter().collect();
    assert_eq!(ends.len(), 400);
    assert!(ends.iter().all(|(found, _)| *found));
    // The last one needs no server: the thread that begins it has its result before it continues.
    let (report, reports) = mpsc::channel();
    assert!(!begin_to_resolve(&fs.futago().starter(), report));
    assert_eq!(reports.try_recv(), Ok((true, thread::current().id())));
}

#[test]
fn what_needs_a_server_has_to_wait() {
    let running = start(1);
    let fs = client(&running);
    let (report, reports) = mpsc::channel();
    assert!(begin_to_resolve(&fs.futago().starter(), report));
    let (found, thread) = reports.recv().unwrap();
    assert!(!found, "nobody has made it");
    assert_ne!(thread, thread::current().id());
}

#[test]
fn what_is_begun_once_the_client_has_stopped_is_dropped() {
    let running = start(1);
    let fs = client(&running);
    fs.metadata(b"/", true).unwrap();
    let starter = fs.futago().starter();
    drop(fs);
    let (report, reports) = mpsc::channel();
    assert!(!begin_to_resolve(&starter, report.clone()));
    starter.spawn(async move { report.send((true, thread::current().id())).unwrap() });
    assert!(reports.recv().is_err(), "nobody is left to report");
}

fn leasing() -> Options {
    Options {
        leases: true,
        ..Options::default()
    }
}

/// Returns whether the operation has to wait.
fn begin_to_resolve(starter: &Starter, report: mpsc::Sender<(bool, ThreadId)>) -> bool {
    let client = Arc::clone(starter.client());
    starter.begin(async move {
        let resolving = pin!(client.core().resolve(b"/f", true));
        let found = client.context().poll_with_lock(resolving).await.is_ok();
        // A failed test has dropped the receiver.
        let _ = report.send((found, thread::current().id()));
    })
}

#[test]
fn calls_fail_once_the_client_s_thread_has_panicked() {
    let running = start(1);
    let fs = client(&running);
    fs.metadata(b"/", true).unwrap();
    fs.futago()
        .spawn(|_| -> Ready<()> { panic!("a gateway's mistake") });
    // An operation that waited for a lost reply would hang here.
    while fs.metadata(b"/", true).is_ok() {}
    let error = fs.metadata(b"/", true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}
