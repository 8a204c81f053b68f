//! The requests for a listing of a leased directory, and listings from the cache.

mod script;

use futago_base::{
    BucketStart, Duration, FileId, Kind, Name, NameHash, Timestamp,
    record::{Entry, Header, HeaderSum},
};
use futago_client::Config;
use futago_wire::{DirectoryState, FileState, ListedEntry, Reply, Request};
use script::{Exchange, exchange, node, run};

const DIRECTORY: FileId = FileId(1);

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        ..Config::default()
    }
}

fn name(text: &'static str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// The leased directory with this many entries.
fn leased(entries: u64) -> FileState {
    let header = Header {
        level: 0,
        mode: 0o755,
        gid: 0,
        chunk_bytes: 0,
        depth: 0,
        entries,
        subdirectories: 0,
        pending: 0,
        modified: Timestamp::default(),
    };
    FileState {
        leased: true,
        directory: Some(DirectoryState {
            parent: DIRECTORY,
            header,
            here: HeaderSum::from(&header),
            modified_set_at: header.modified,
            modified_set_to: header.modified,
        }),
        ..node(DIRECTORY, Kind::Directory, 0, 0)
    }
}

fn ask(entries: u64) -> Exchange {
    let reply = Reply::Files(vec![Ok(leased(entries))]);
    exchange(0, Request::GetAttributes(vec![DIRECTORY]), Ok(reply))
}

fn listed(texts: &[&'static str]) -> Vec<ListedEntry> {
    let entry = |&text: &&'static str| ListedEntry {
        name: name(text),
        entry: Entry {
            id: FileId(5),
            kind: Kind::File,
        },
        attributes: None,
    };
    let mut entries: Vec<ListedEntry> = texts.iter().map(entry).collect();
    entries.sort_by_key(|listed| listed.name.hash());
    entries
}

fn list(entries_max: u32, complete: bool) -> Exchange {
    let request = Request::ReadDirectory {
        directory: DIRECTORY,
        bucket: BucketStart(0),
        after: NameHash(0),
        entries_max,
    };
    let reply = Reply::Listing {
        entries: listed(&["a", "b"]),
        complete,
        level: 0,
        directory: None,
    };
    exchange(0, request, Ok(reply))
}

#[test]
fn a_small_directory_is_listed_as_a_whole_and_then_from_memory() {
    let exchanges = vec![ask(2), list(1024, true)];
    let seen = run(config(), exchanges, None, |client| async move {
        client.attributes(DIRECTORY).await?;
        let first = client
            .read_directory(DIRECTORY, NameHash(0), 1, false)
            .await?;
        let after = first[0].name.hash();
        let rest = client.read_directory(DIRECTORY, after, 9, false).await?;
        let none = client.lookup(DIRECTORY, &name("c")).await;
        assert_eq!(none, Err(futago_base::Errno::ENOENT));
        Ok::<_, futago_base::Errno>([first, rest].concat())
    });
    assert_eq!(seen, Ok(listed(&["a", "b"])));
}

#[test]
fn of_a_large_directory_no_more_is_asked_for_than_is_wanted() {
    let exchanges = vec![ask(5000), list(2, false)];
    let seen = run(config(), exchanges, None, |client| async move {
        client.attributes(DIRECTORY).await?;
        client
            .read_directory(DIRECTORY, NameHash(0), 2, false)
            .await
    });
    assert_eq!(seen, Ok(listed(&["a", "b"])));
}
