//! Searches: the requests of one, and what a search of random trees finds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod script;

use cluster::{User, create, file, make_directory, make_file, name, splitting_early, symlink};
use futago_base::{
    BucketStart, Errno, FileId, Kind, NameHash,
    record::Entry,
    search::{Case, Comparison, Kinds, Test, Tests},
};
use futago_client::{Config, FoundFile, SearchBatch, SearchFailure, SearchOptions};
use futago_wire::{
    Failure, Reply, Request, Spot,
    search::{Detail, FoundEntry, Scan, ScanEnd, Scanned, Subdirectory, Verdict},
};
use proptest::prelude::*;
use std::{collections::BTreeSet, ops::Range};

const ROOT: FileId = FileId::ROOT;

fn scan(directory: FileId, after: u64) -> Scan {
    Scan {
        directory,
        bucket: BucketStart(0),
        after: NameHash(after),
        matches: true,
        subdirectories: true,
    }
}

fn size() -> Tests {
    Tests(vec![Test::Size {
        unit_bytes: 1,
        units: Comparison::More(5),
    }])
}

fn find(scans: Vec<Scan>) -> Request {
    Request::Find {
        scans,
        tests: size(),
        detail: Detail::Name,
        entries_max: 2048,
    }
}

const FILE: Entry = Entry {
    id: FileId(5),
    kind: Kind::File,
};

fn entry(text: &str) -> FoundEntry {
    FoundEntry {
        name: name(text),
        entry: FILE,
        attributes: None,
    }
}

fn options() -> SearchOptions {
    SearchOptions {
        tests: size(),
        ..SearchOptions::default()
    }
}

/// Everything that a search of the root brings, against a script.
fn searched(exchanges: Vec<script::Exchange>) -> SearchBatch {
    let start = script::node(FileId(1), Kind::Directory, 0, 0).attributes;
    script::run(Config::default(), exchanges, None, |client| async move {
        let mut search = client.search(b"/d", &start, options());
        let mut all = SearchBatch::default();
        while let Some(batch) = search.next().await {
            all.matches += batch.matches;
            all.files.extend(batch.files);
            all.failures.extend(batch.failures);
        }
        Ok::<_, Errno>(all)
    })
    .unwrap()
}

#[test]
fn a_search_goes_on_goes_down_and_has_homes_decide() {
    let nothing = Scanned::nothing(ScanEnd::Bucket { level: 0 });
    let first = Scanned {
        matches: 1,
        found: vec![entry("big")],
        undecided: vec![entry("perhaps")],
        subdirectories: vec![Subdirectory {
            name: name("below"),
            id: FileId(2),
        }],
        end: ScanEnd::After {
            after: NameHash(9),
            level: 0,
        },
    };
    let second = vec![nothing.clone(), nothing];
    let test = Request::TestFiles {
        files: vec![FILE.id],
        tests: size(),
        detail: Detail::Name,
    };
    let passes = Reply::Tested(vec![Verdict::Passes(None)]);
    let answer = |scanned| Ok(Reply::Scanned(scanned));
    let all = searched(vec![
        script::exchange(0, find(vec![scan(FileId(1), 0)]), answer(vec![first])),
        script::exchange(
            0,
            find(vec![scan(FileId(1), 9), scan(FileId(2), 0)]),
            answer(second),
        ),
        script::exchange(0, test, Ok(passes)),
    ]);
    let file = |path: &'static [u8]| FoundFile {
        path: path.into(),
        entry: FILE,
        attributes: None,
    };
    let expected = SearchBatch {
        matches: 2,
        files: vec![file(b"/d/big"), file(b"/d/perhaps")],
        failures: vec![],
    };
    assert_eq!(all, expected);
}

#[test]
fn a_lost_server_is_reported_for_each_directory_and_not_asked_again() {
    let below = |text, id| Subdirectory {
        name: name(text),
        id: FileId(id),
    };
    let first = Scanned {
        subdirectories: vec![below("a", 2), below("b", 3)],
        ..Scanned::nothing(ScanEnd::Bucket { level: 0 })
    };
    let all = searched(vec![
        script::exchange(
            0,
            find(vec![scan(FileId(1), 0)]),
            Ok(Reply::Scanned(vec![first])),
        ),
        script::exchange(
            0,
            find(vec![scan(FileId(2), 0), scan(FileId(3), 0)]),
            Err(Failure::Errno(Errno::EIO)),
        ),
    ]);
    let lost = |path: &'static [u8]| SearchFailure {
        path: path.into(),
        errno: Errno::EIO,
    };
    assert_eq!(all.failures, [lost(b"/d/a"), lost(b"/d/b")]);
    assert_eq!((all.matches, all.files), (0, vec![]));
}

/// A page of a directory with 2,048 files that match.
fn full_page(after: u64) -> Scanned {
    Scanned {
        matches: 2048,
        found: (0..2048)
            .map(|number| entry(&format!("{after}-{number}")))
            .collect(),
        ..Scanned::nothing(ScanEnd::After {
            after: NameHash(after),
            level: 0,
        })
    }
}

/// Servers that reply at once must not fill the memory of a client whose program takes its time.
#[test]
fn results_are_handed_over_while_replies_keep_coming() {
    const PAGES: u64 = 6;
    let page = |number| {
        let find = find(vec![scan(FileId(1), number)]);
        let page = full_page(number + 1);
        script::exchange(0, find, Ok(Reply::Scanned(vec![page])))
    };
    let start = script::node(FileId(1), Kind::Directory, 0, 0).attributes;
    let batches = script::run(
        Config::default(),
        (0..PAGES).map(page).collect(),
        None,
        |client| async move {
            let mut search = client.search(b"/d", &start, options());
            let mut batches = Vec::new();
            for _ in 0..PAGES {
                batches.push(search.next().await.unwrap().files.len());
            }
            batches
        },
    );
    assert_eq!(batches, [2048; PAGES as usize]);
}

/// Servers of names that are faster than the homes of the files must wait for them.
#[test]
fn few_files_wait_for_their_homes() {
    const TOO_MANY: usize = (1 << 16) + 2 * 1024;
    let of = |number: usize| Entry {
        id: script::id(1, number as u64),
        kind: Kind::File,
    };
    let undecided = |number| FoundEntry {
        entry: of(number),
        ..entry(&format!("{number}"))
    };
    let many = Scanned {
        undecided: (0..TOO_MANY).map(undecided).collect(),
        ..Scanned::nothing(ScanEnd::After {
            after: NameHash(9),
            level: 0,
        })
    };
    let test = |files: Range<usize>| {
        let verdicts = files.clone().map(|_| Verdict::Passes(None)).collect();
        let request = Request::TestFiles {
            files: files.map(|number| of(number).id).collect(),
            tests: size(),
            detail: Detail::Name,
        };
        script::exchange(1, request, Ok(Reply::Tested(verdicts)))
    };
    let first = find(vec![scan(FileId(1), 0)]);
    let exchanges = vec![
        script::exchange(0, first, Ok(Reply::Scanned(vec![many]))),
        test(TOO_MANY - 1024..TOO_MANY),
        test(TOO_MANY - 2048..TOO_MANY - 1024),
    ];
    let start = script::node(FileId(1), Kind::Directory, 0, 0).attributes;
    let found = script::run(Config::default(), exchanges, None, |client| async move {
        let mut search = client.search(b"/d", &start, options());
        search.next().await.unwrap().files.len()
    });
    assert_eq!(
        found, 2048,
        "and the rest of the directory was not asked for"
    );
}

/// All paths that a search finds; none may be found twice.
async fn paths(client: &User, options: SearchOptions) -> BTreeSet<String> {
    let start = client.attributes(ROOT).await.unwrap().attributes;
    let mut search = client.search(b"/", &start, options);
    let mut all = BTreeSet::new();
    while let Some(batch) = search.next().await {
        assert_eq!(batch.failures, []);
        assert_eq!(batch.matches, batch.files.len() as u64);
        for found in batch.files {
            let path = String::from_utf8(found.path.to_vec()).unwrap();
            assert!(all.insert(path.clone()), "{path} was found twice");
        }
    }
    all
}

/// A file of a random tree.
#[derive(Clone, Debug)]
struct Node {
    path: String,
    kind: Kind,
    size: u32,
}

/// Makes a random tree: each draw is a name in one of the directories that are there.
async fn grow(client: &User, draws: &[(u16, u8, u8)]) -> Vec<Node> {
    let mut directories = vec![(ROOT, String::new())];
    let mut nodes = Vec::new();
    for (number, &(parent, what, letter)) in draws.iter().enumerate() {
        let (directory, path) = directories[usize::from(parent) % directories.len()].clone();
        let text = format!("{}{number}", char::from(b'a' + letter % 4));
        let path = format!("{path}/{text}");
        let (kind, size) = match what % 8 {
            0 | 1 => {
                let made = make_directory(client, directory, &text).await;
                directories.push((made, path.clone()));
                (Kind::Directory, 0)
            }
            2 => {
                let link = symlink("nowhere");
                let made = create(client, directory, &text, link, (true, false)).await;
                made.unwrap();
                (Kind::Symlink, 7)
            }
            size => {
                let made = create(client, directory, &text, file(), (true, false)).await;
                let (made, _) = made.unwrap();
                let data = cluster::data(&vec![1; usize::from(size)]);
                client
                    .write(made.attributes.id, 0, data, false)
                    .await
                    .unwrap();
                (Kind::File, u32::from(size))
            }
        };
        nodes.push(Node { path, kind, size });
    }
    nodes
}

/// The paths of the nodes that pass.
fn passing(nodes: &[Node], passes: impl Fn(&Node) -> bool) -> BTreeSet<String> {
    let passing = nodes.iter().filter(|node| passes(node));
    passing.map(|node| node.path.clone()).collect()
}

fn depth(node: &Node) -> usize {
    node.path.matches('/').count()
}

async fn check(client: &User, nodes: &[Node], start: bool) {
    let with_start = |mut paths: BTreeSet<String>| {
        paths.extend(start.then(|| "/".to_owned()));
        paths
    };
    let all = with_start(passing(nodes, |_| true));
    assert_eq!(paths(client, SearchOptions::default()).await, all);
    let glob = Test::Name {
        glob: "[ab]*".into(),
        case: Case::Matters,
    };
    let kind = Test::Kind(Kinds::default().with(Kind::File));
    let tests = Tests(vec![glob, kind, size().0.remove(0)]);
    let found = paths(
        client,
        SearchOptions {
            tests,
            ..SearchOptions::default()
        },
    );
    let expected = passing(nodes, |node| {
        let text = node.path.rsplit('/').next().unwrap();
        node.kind == Kind::File && node.size > 5 && text.starts_with(['a', 'b'])
    });
    assert_eq!(found.await, expected);
    let found = paths(
        client,
        SearchOptions {
            depth_min: 2,
            depth_max: 3,
            ..SearchOptions::default()
        },
    );
    let expected = passing(nodes, |node| (2..=3).contains(&depth(node)));
    assert_eq!(found.await, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_search_finds_what_a_walk_finds(
        draws in proptest::collection::vec(any::<(u16, u8, u8)>(), 1..160),
        servers in 1_usize..5,
    ) {
        let cluster = splitting_early(servers);
        let (writer, reader) = (cluster.client(), cluster.client());
        cluster.run(async {
            let nodes = grow(&writer, &draws).await;
            check(&reader, &nodes, true).await;
            check(&writer, &nodes, true).await;
        });
    }
}

#[test]
fn what_is_there_is_found_while_a_directory_splits() {
    let cluster = splitting_early(4);
    let (writer, reader) = (cluster.client(), cluster.client());
    cluster.run(async {
        let wide = make_directory(&writer, ROOT, "wide").await;
        for number in 0..15 {
            make_file(&writer, wide, &format!("old{number}")).await;
        }
        let start = reader.attributes(wide).await.unwrap().attributes;
        let mut search = reader.search(b"/wide", &start, SearchOptions::default());
        // The start itself; the first request is under way.
        let first = search.next().await.unwrap();
        for number in 0..200 {
            make_file(&writer, wide, &format!("new{number}")).await;
        }
        let mut found: Vec<FoundFile> = first.files;
        while let Some(batch) = search.next().await {
            assert_eq!(batch.failures, []);
            found.extend(batch.files);
        }
        let paths: BTreeSet<_> = found.iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths.len(), found.len(), "a name was found twice");
        let old = paths.iter().filter(|path| path.starts_with(b"/wide/old"));
        assert_eq!(old.count(), 15);
    });
}

/// The names of a directory by the servers that have them.
async fn names_by_server(client: &User, directory: FileId) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for server in client.map().servers() {
        let (mut names, mut after) = (Vec::new(), NameHash(0));
        loop {
            let page = client.list_here(directory, server, after, 7).await.unwrap();
            let Some(last) = page.last() else {
                break;
            };
            after = last.name.hash();
            names.extend(page.iter().map(|listed| listed.name.to_string()));
        }
        all.push(names);
    }
    all
}

#[test]
fn all_servers_together_have_each_name_once() {
    let cluster = splitting_early(4);
    let client = cluster.client();
    cluster.run(async {
        let wide = make_directory(&client, ROOT, "wide").await;
        let made: Vec<String> = (0..200).map(|number| format!("f{number}")).collect();
        for text in &made {
            make_file(&client, wide, text).await;
        }
        let by_server = names_by_server(&client, wide).await;
        assert!(
            by_server.iter().all(|names| !names.is_empty()),
            "{by_server:?}"
        );
        let mut all = by_server.concat();
        let mut expected = made;
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
    });
}

/// A search whose only file is gone at its home, with the present target of its name.
fn searched_for_gone(present: Result<Reply, Failure>) -> SearchBatch {
    let scanned = Scanned {
        undecided: vec![entry("gone")],
        ..Scanned::nothing(ScanEnd::Bucket { level: 0 })
    };
    let test = Request::TestFiles {
        files: vec![FILE.id],
        tests: size(),
        detail: Detail::Name,
    };
    let look = Request::Lookup(Spot {
        directory: FileId(1),
        bucket: BucketStart(0),
        name: name("gone"),
    });
    searched(vec![
        script::exchange(
            0,
            find(vec![scan(FileId(1), 0)]),
            Ok(Reply::Scanned(vec![scanned])),
        ),
        script::exchange(0, test, Ok(Reply::Tested(vec![Verdict::Gone]))),
        script::exchange(0, look, present),
    ])
}

#[test]
fn a_removed_file_is_not_found_and_a_lost_one_is_reported() {
    let removed = searched_for_gone(Err(Failure::Errno(Errno::ENOENT)));
    assert_eq!(removed, SearchBatch::default());
    let lost = searched_for_gone(Ok(Reply::Found {
        entry: FILE,
        state: None,
        created: false,
        directory: None,
    }));
    let failure = SearchFailure {
        path: b"/d/gone"[..].into(),
        errno: Errno::EIO,
    };
    assert_eq!(lost.failures, [failure]);
}
