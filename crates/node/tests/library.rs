//! The library does as system calls do: modes of opening, attributes, locks on ranges, directories
//! entry by entry. Operations that do not block.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use futago_base::{
    Errno, Kind, Timestamp,
    record::{LockKind, LockRange},
};
use futago_client::{AllocateMode, CreateFlags, XattrMode};
use futago_files::{Access, Credentials, RangeLockRequest, RangeOwner};
use futago_node::{
    Options,
    blocking::{File, FileSystem, LockConflict, OpenOptions},
    server::{Config, Servers},
};
use futago_wire::{AttributeChange, NewContent, SetTime};
use std::io::{self, Read, Seek, SeekFrom, Write};
use tempfile::TempDir;

struct Running {
    config: Config,
    _servers: Servers,
    _directory: TempDir,
}

fn start() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let config = one_server::config(directory.path());
    let servers = Servers::start(&config).unwrap();
    Running {
        config,
        _servers: servers,
        _directory: directory,
    }
}

impl Running {
    fn client(&self) -> FileSystem {
        FileSystem::connect(&self.config.cluster, Options::default()).unwrap()
    }
}

const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o666,
    ..OpenOptions::EXISTING
};

fn fails<T>(result: io::Result<T>, with: Errno) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(with.number()), "{error}");
}

#[test]
fn data_is_read_and_written_only_as_the_file_was_opened() {
    let running = start();
    let files = running.client();
    files
        .open(b"/f", NEW)
        .unwrap()
        .write_at(0, "data".into())
        .unwrap();
    let open = |access| {
        let options = OpenOptions { access, ..NEW };
        files.open(b"/f", options).unwrap()
    };
    let (reads, writes) = (open(Access::Read), open(Access::Write));
    assert_eq!(reads.read_at(0, 9).unwrap(), "data");
    fails(reads.write_at(0, "x".into()), Errno::EBADF);
    fails((&reads).write(b"x"), Errno::EBADF);
    fails(reads.append("x".into()), Errno::EBADF);
    fails(reads.set_size(0), Errno::EINVAL);
    let allocate = AllocateMode::Allocate { keep_size: false };
    fails(reads.allocate(allocate, 0..9), Errno::EBADF);
    fails(writes.read_at(0, 9), Errno::EBADF);
    fails((&writes).read(&mut [0; 9]), Errno::EBADF);
    writes.set_size(2).unwrap();
    writes.allocate(allocate, 0..6).unwrap();
    assert_eq!(reads.read_at(0, 9).unwrap(), "da\0\0\0\0");
}

#[test]
fn appended_data_ends_at_the_position() {
    let running = start();
    let files = running.client();
    let append = OpenOptions {
        append: true,
        synchronous: true,
        ..NEW
    };
    let (mut one, mut other) = (
        files.open(b"/f", append).unwrap(),
        files.open(b"/f", append).unwrap(),
    );
    one.write_all(b"one").unwrap();
    other.write_all(b"other").unwrap();
    assert_eq!(other.stream_position().unwrap(), 8);
    one.write_at(0, "!".into()).unwrap();
    assert_eq!(one.read_at(0, 99).unwrap(), "oneother!");
    one.rewind().unwrap();
    one.write_all(b"?").unwrap();
    assert_eq!(one.stream_position().unwrap(), 10);
}

#[test]
fn a_link_at_the_end_of_a_path_is_not_followed_if_asked() {
    let running = start();
    let files = running.client();
    files.symlink(b"/target", b"/link").unwrap();
    for create in [false, true] {
        let options = OpenOptions {
            no_follow: true,
            create,
            ..NEW
        };
        fails(files.open(b"/link", options), Errno::ELOOP);
    }
    files.open(b"/link", NEW).unwrap();
    assert_eq!(files.metadata(b"/target", false).unwrap().kind, Kind::File);
}

#[test]
fn what_is_no_file_does_not_open() {
    let running = start();
    let files = running.client();
    files.create_directory(b"/d", 0o777).unwrap();
    make_fifo(&files, b"/fifo");
    for create in [false, true] {
        let options = OpenOptions { create, ..NEW };
        fails(files.open(b"/d", options), Errno::EISDIR);
        fails(files.open(b"/fifo", options), Errno::ENXIO);
    }
}

fn make_fifo(files: &FileSystem, path: &[u8]) {
    let root = Credentials { uid: 0, gid: 0 };
    let node = root.new_node(NewContent::Fifo, 0o644);
    let make = files.run(async |client| {
        let place = client.locate(path).await?;
        let (flags, data) = (CreateFlags::EXCLUSIVE, futago_base::Payload::empty());
        client
            .create(place.directory, &place.name, node, flags, data)
            .await
    });
    make.unwrap();
}

#[test]
fn the_umask_of_the_client_counts() {
    let running = start();
    let files = running.client().with_umask(0o027);
    files.open(b"/f", NEW).unwrap();
    files.create_directory(b"/d", 0o777).unwrap();
    let mode = |path| files.metadata(path, true).unwrap().mode;
    assert_eq!((mode(b"/f"), mode(b"/d")), (0o640, 0o750));
}

#[test]
fn truncating_an_empty_file_changes_it() {
    let running = start();
    let user = Credentials {
        uid: 1000,
        gid: 1000,
    };
    let files = running.client().on_behalf_of(user);
    let program = OpenOptions {
        mode: 0o4755,
        ..NEW
    };
    let to_zero = AttributeChange {
        size: Some(0),
        ..AttributeChange::default()
    };
    for by_path in [false, true] {
        let file = files.open(b"/f", program).unwrap();
        let before = file.metadata().unwrap();
        match by_path {
            true => files.set_attributes(b"/f", true, to_zero).unwrap(),
            false => file.set_attributes(to_zero).unwrap(),
        }
        let after = file.metadata().unwrap();
        assert!(after.modified > before.modified && after.changed > before.changed);
        assert_eq!((before.mode, after.mode), (0o4755, 0o755));
        files.remove_file(b"/f").unwrap();
    }
}

#[test]
fn attributes_are_set_by_path_and_through_files() {
    let running = start();
    let files = running.client();
    let file = files.open(b"/f", NEW).unwrap();
    files.symlink(b"/f", b"/link").unwrap();
    let time = Timestamp {
        seconds: 77,
        nanos: 5,
    };
    let change = AttributeChange {
        mode: Some(0o600),
        modified: Some(SetTime::To(time)),
        ..AttributeChange::default()
    };
    files.set_attributes(b"/link", true, change).unwrap();
    let seen = file.metadata().unwrap();
    assert_eq!((seen.mode, seen.modified), (0o600, time));
    let owner = AttributeChange {
        uid: Some(12),
        ..AttributeChange::default()
    };
    files.set_attributes(b"/link", false, owner).unwrap();
    assert_eq!(files.metadata(b"/link", false).unwrap().uid, 12);
    file.set_attributes(owner).unwrap();
    assert_eq!(files.metadata(b"/f", false).unwrap().uid, 12);
}

#[test]
fn a_file_has_several_names() {
    let running = start();
    let files = running.client();
    let file = files.open(b"/f", NEW).unwrap();
    files.link(b"/f", b"/g").unwrap();
    assert_eq!(files.metadata(b"/g", false).unwrap().id, file.id());
    fails(files.link(b"/f", b"/g"), Errno::EEXIST);
    fails(files.link(b"/", b"/root"), Errno::EPERM);
    fails(files.link(b"/missing", b"/h"), Errno::ENOENT);
    files.symlink(b"/f", b"/link").unwrap();
    files.link(b"/link", b"/h").unwrap();
    assert_eq!(files.metadata(b"/h", false).unwrap().kind, Kind::Symlink);
}

#[test]
fn extended_attributes_obey_the_rules_of_mounts() {
    let running = start();
    let root = running
        .client()
        .on_behalf_of(Credentials { uid: 0, gid: 0 });
    let user = root.on_behalf_of(Credentials {
        uid: 1000,
        gid: 1000,
    });
    let file = user.open(b"/f", NEW).unwrap();
    user.symlink(b"/f", b"/link").unwrap();
    let set = |files: &FileSystem, follow, name: &[u8]| {
        files.set_xattr(b"/link", follow, name, "value".into(), XattrMode::Set)
    };
    set(&user, true, b"user.a").unwrap();
    assert_eq!(file.xattr(b"user.a").unwrap(), "value");
    fails(set(&user, false, b"user.a"), Errno::EPERM);
    fails(
        set(&root, true, b"system.posix_acl_access"),
        Errno::EOPNOTSUPP,
    );
    fails(set(&root, true, b"security.selinux"), Errno::EOPNOTSUPP);
    fails(set(&user, true, b"security.capability"), Errno::EPERM);
    fails(set(&user, true, b"trusted.a"), Errno::EPERM);
    set(&root, true, b"trusted.a").unwrap();
    fails(file.xattr(b"trusted.a"), Errno::ENODATA);
    let names = |files: &FileSystem| names_of(files.xattr_names(b"/link", true).unwrap());
    assert_eq!(names(&user), ["user.a"]);
    assert_eq!(names(&root), ["trusted.a", "user.a"]);
    fails(
        file.set_xattr(b"user.a", "x".into(), XattrMode::Create),
        Errno::EEXIST,
    );
    file.remove_xattr(b"user.a").unwrap();
    fails(user.xattr(b"/f", true, b"user.a"), Errno::ENODATA);
    fails(user.remove_xattr(b"/f", true, b"user.a"), Errno::ENODATA);
    assert!(file.xattr_names().unwrap().is_empty());
}

fn names_of(names: Vec<futago_base::XattrName>) -> Vec<String> {
    let mut names: Vec<String> = names
        .iter()
        .map(|name| String::from_utf8(name.as_bytes().to_vec()).unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_is_read_from_any_of_its_positions() {
    const ENTRIES: usize = 3000;
    let running = start();
    let files = running.client();
    files.create_directory(b"/d", 0o755).unwrap();
    for number in 0..ENTRIES {
        files.open(format!("/d/{number}").as_bytes(), NEW).unwrap();
    }
    let mut directory = files.open_directory(b"/d").unwrap();
    let (mut positions, mut names) = (vec![directory.position()], Vec::new());
    while let Some(entry) = directory.read().unwrap() {
        assert_eq!(entry.next, directory.position());
        positions.push(entry.next);
        names.push(entry.name);
    }
    assert_eq!(names[..2], [".", ".."]);
    assert_eq!(names.len(), ENTRIES + 2);
    for index in [0, 1, 2, 3, 1025, 2047, ENTRIES, ENTRIES + 1] {
        directory.seek(positions[index]);
        assert_eq!(directory.read().unwrap().unwrap().name, names[index]);
    }
    directory.seek(positions[ENTRIES + 2]);
    assert!(directory.read().unwrap().is_none());
    // A program that removes what it lists misses nothing.
    directory.rewind();
    let removed = (&mut directory).map(|entry| {
        let path = [b"/d/", &entry.unwrap().name[..]].concat();
        files.remove_file(&path).unwrap();
    });
    assert_eq!(removed.count(), ENTRIES);
    files.remove_directory(b"/d").unwrap();
    fails(files.open_directory(b"/d"), Errno::ENOENT);
    directory.rewind();
    fails(
        directory.read().and_then(|_| directory.read()),
        Errno::ENOENT,
    );
    files.open(b"/f", NEW).unwrap();
    fails(files.open_directory(b"/f"), Errno::ENOTDIR);
}

#[test]
fn locks_on_ranges_belong_to_the_process_or_to_the_file() {
    let running = start();
    let (one, two) = (running.client(), running.client());
    let open = |files: &FileSystem| files.open(b"/f", NEW).unwrap();
    let (holder, same, other) = (open(&one), open(&one), open(&two));
    let request = |owner, kind, start| RangeLockRequest {
        owner,
        kind,
        range: LockRange {
            start,
            end: start + 9,
        },
        pid: 77,
    };
    let lock = |file: &File, owner, start| {
        let exclusive = request(owner, Some(LockKind::Exclusive), start);
        file.set_range_lock(exclusive, LockConflict::Fail)
    };
    lock(&holder, RangeOwner::Process, 0).unwrap();
    lock(&same, RangeOwner::Process, 5).unwrap();
    fails(lock(&same, RangeOwner::Handle, 5), Errno::EAGAIN);
    lock(&holder, RangeOwner::Handle, 100).unwrap();
    fails(lock(&other, RangeOwner::Process, 0), Errno::EAGAIN);
    let shared = request(RangeOwner::Process, Some(LockKind::Shared), 14);
    let conflict = other.conflicting_lock(shared).unwrap().unwrap();
    assert_eq!(
        (conflict.range.start, conflict.range.end, conflict.pid),
        (0, 14, 77)
    );
    // Closing any file of the process ends the locks of the process, but none of another file.
    same.close().unwrap();
    lock(&other, RangeOwner::Process, 0).unwrap();
    fails(lock(&other, RangeOwner::Process, 100), Errno::EAGAIN);
    holder.close().unwrap();
    lock(&other, RangeOwner::Process, 100).unwrap();
}

#[test]
fn a_lock_needs_the_access_that_it_protects() {
    let running = start();
    let files = running.client();
    files.open(b"/f", NEW).unwrap();
    let lock = |access, kind| {
        let file = files.open(b"/f", OpenOptions { access, ..NEW }).unwrap();
        let request = RangeLockRequest {
            owner: RangeOwner::Process,
            kind: Some(kind),
            range: LockRange { start: 0, end: 1 },
            pid: 1,
        };
        file.set_range_lock(request, LockConflict::Fail)
    };
    fails(lock(Access::Read, LockKind::Exclusive), Errno::EBADF);
    fails(lock(Access::Write, LockKind::Shared), Errno::EBADF);
    lock(Access::Read, LockKind::Shared).unwrap();
}

#[test]
fn data_and_holes_are_found() {
    let running = start();
    let file = running.client().open(b"/f", NEW).unwrap();
    file.write_at(1 << 20, "data".into()).unwrap();
    file.set_size(3 << 20).unwrap();
    assert_eq!(file.next_data(0).unwrap(), 1 << 20);
    assert_eq!(file.next_hole(0).unwrap(), 0);
    assert!(file.next_hole(1 << 20).unwrap() > 1 << 20);
    fails(file.next_data(2 << 20), Errno::ENXIO);
}

#[test]
fn large_buffers_are_written_and_read() {
    let running = start();
    let mut file = running.client().open(b"/f", NEW).unwrap();
    let data: Vec<u8> = (0..(33 << 20) + 5)
        .map(|n: u32| (n / 3 % 251) as u8)
        .collect();
    file.write_all(&data).unwrap();
    assert_eq!(file.stream_position().unwrap(), data.len() as u64);
    let mut back = vec![0; data.len() + 1];
    assert_eq!(file.read_into(&mut back, 0).unwrap(), data.len());
    assert!(back[..data.len()] == data);
    fails(file.seek(SeekFrom::Start(u64::MAX)), Errno::EINVAL);
    fails(file.write_from(b"x", i64::MAX as u64), Errno::EFBIG);
}

#[tokio::test]
async fn operations_of_one_file_are_under_way_at_once() {
    let running = start();
    let files = running.client();
    let file = files.open_asynchronous(b"/f", NEW).await.unwrap();
    let block = |number: u8| vec![number; 100_000];
    let write = |number: u8| file.write_at(u64::from(number) * 100_000, block(number).into());
    let writes: Vec<_> = (0..40).map(write).collect();
    for written in writes {
        written.await.unwrap();
    }
    let end = file.append("end".into()).await.unwrap();
    assert_eq!((end.start, end.end), (4_000_000, 4_000_003));
    file.synchronize().await.unwrap();
    let read = |number: u8| file.read_at(u64::from(number) * 100_000, 100_000);
    let reads: Vec<_> = (0..40).map(read).collect();
    for (number, data) in (0..).zip(reads) {
        assert!(data.await.unwrap() == block(number)[..]);
    }
    let size = AttributeChange {
        size: Some(3),
        ..AttributeChange::default()
    };
    file.set_attributes(size).await.unwrap();
    assert_eq!(file.metadata().await.unwrap().size, 3);
    let read_only = OpenOptions {
        access: Access::Read,
        ..OpenOptions::EXISTING
    };
    let file = files.open_asynchronous(b"/f", read_only).await.unwrap();
    fails(file.append("x".into()).await, Errno::EBADF);
    fails(
        files.open_asynchronous(b"/missing", read_only).await,
        Errno::ENOENT,
    );
}

/// An operation that nobody waits for takes effect, and the file is closed after it.
#[tokio::test]
async fn a_dropped_operation_goes_on() {
    let running = start();
    let files = running.client();
    let file = files.open(b"/f", NEW).unwrap();
    drop(file.asynchronous().write_at(0, "data".into()));
    let last = file.asynchronous();
    drop(file);
    assert_eq!(last.read_at(0, 9).await.unwrap(), "data");
}
