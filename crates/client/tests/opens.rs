//! The files that a client opens without registration, and their later registration.

mod script;

use futago_base::{
    BucketStart, Duration, Errno, FileId, Kind, Name, Payload, ServerId, record::Entry,
};
use futago_client::{Client, Config, CreateFlags};
use futago_wire::{
    Failure, FileState, Lease, LeaseRecall, NewContent, NewNode, Part, Reply, Request, Spot,
};
use script::{Exchange, Script, exchange, node, run};

const FILE: FileId = FileId(5);
const DIRECTORY: FileId = FileId(1);
const CHUNK: u32 = 4096;
const LEASE: Lease = Lease {
    node: FILE,
    number: 1,
};
const RECALL: LeaseRecall = LeaseRecall {
    lease: LEASE,
    since: 1,
};

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        ..Config::default()
    }
}

fn leased(id: FileId, kind: Kind) -> FileState {
    FileState {
        leased: true,
        ..node(id, kind, 0, CHUNK)
    }
}

fn open() -> Exchange {
    let unleased = node(FILE, Kind::File, 0, CHUNK);
    exchange(0, Request::Open(FILE), Ok(Reply::Opened(unleased)))
}

fn close() -> Exchange {
    exchange(0, Request::Close(FILE), Ok(Reply::Done))
}

fn return_leases() -> Exchange {
    exchange(0, Request::GiveBack(vec![LEASE]), Ok(Reply::Done))
}

fn name() -> Name {
    Name::new(&b"a"[..]).expect("a name")
}

fn new_file() -> NewNode {
    NewNode {
        content: NewContent::File { chunk_bytes: CHUNK },
        mode: 0,
        uid: 0,
        gid: 0,
    }
}

fn spot() -> Spot {
    Spot {
        directory: DIRECTORY,
        bucket: BucketStart(0),
        name: name(),
    }
}

/// Makes the file.
fn create() -> Exchange {
    let request = Request::Create {
        at: spot(),
        node: new_file(),
        exclusive: true,
        open: true,
    };
    exchange(0, request, Ok(found(true)))
}

/// The file, with leases on it and its directory.
fn found(created: bool) -> Reply {
    Reply::Found {
        entry: Entry {
            id: FILE,
            kind: Kind::File,
        },
        state: Some(leased(FILE, Kind::File)),
        created,
        directory: Some(Box::new(Part::Home(leased(DIRECTORY, Kind::Directory)))),
    }
}

async fn make(client: &Client<Script>) -> Result<(), Errno> {
    let (name, data) = (name(), Payload::empty());
    let made = client.create(
        DIRECTORY,
        &name,
        new_file(),
        CreateFlags::EXCLUSIVE_OPEN,
        data,
    );
    made.await.map(drop)
}

#[test]
fn a_file_made_and_opened_under_a_lease_is_not_registered() {
    let done = run(config(), vec![create()], None, |client| async move {
        make(&client).await?;
        client.open(FILE).await?;
        client.close(FILE).await?;
        client.close(FILE).await
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn opens_are_registered_before_the_lease_is_returned() {
    let exchanges = vec![create(), open(), open(), return_leases(), close(), close()];
    let done = run(config(), exchanges, None, |client| async move {
        make(&client).await?;
        client.open(FILE).await?;
        client.recalled(ServerId(0), vec![RECALL]).await;
        client.close(FILE).await?;
        client.close(FILE).await
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn opens_are_registered_before_the_client_removes_the_last_name() {
    let request = Request::Unlink {
        at: spot(),
        file: Some(FILE),
    };
    let unlink = exchange(0, request, Ok(Reply::Done));
    let exchanges = vec![create(), open(), unlink, close()];
    let done = run(config(), exchanges, None, |client| async move {
        make(&client).await?;
        client.unlink(DIRECTORY, &name()).await?;
        client.close(FILE).await
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn a_lease_is_not_returned_if_its_opens_could_not_be_registered() {
    let fails = exchange(0, Request::Open(FILE), Err(Failure::Errno(Errno::EIO)));
    let exchanges = vec![create(), fails, open(), return_leases(), close()];
    let done = run(config(), exchanges, None, |client| async move {
        make(&client).await?;
        client.recalled(ServerId(0), vec![RECALL]).await;
        client.recalled(ServerId(0), vec![RECALL]).await;
        client.close(FILE).await
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn a_client_does_not_remove_the_last_name_if_the_opens_could_not_be_registered() {
    let fails = exchange(0, Request::Open(FILE), Err(Failure::Errno(Errno::EIO)));
    let exchanges = vec![create(), fails];
    let done = run(config(), exchanges, None, |client| async move {
        make(&client).await?;
        let unlinked = client.unlink(DIRECTORY, &name()).await;
        assert_eq!(unlinked, Err(Errno::EIO));
        client.close(FILE).await
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn a_lease_of_an_ended_session_is_not_returned_in_the_next_one() {
    let over = exchange(0, Request::Open(FILE), Err(Failure::SessionExpired));
    let done = run(config(), vec![create(), over], None, |client| async move {
        make(&client).await?;
        client.recalled(ServerId(0), vec![RECALL]).await;
        Ok::<(), Errno>(())
    });
    assert_eq!(done, Ok(()));
}
