//! Names against real servers: what works, and with how many messages.

mod cluster;

use cluster::{Cluster, User, create, data, file, make_directory, make_file, name};
use futago_base::{Duration, Errno, FileId, Kind, NameHash, ServerId, Timestamp};
use futago_client::{Context as _, Owner, RenameFlags, join_all};
use futago_wire::{AttributeChange, SetTime};
use std::collections::BTreeSet;

const ROOT: FileId = FileId::ROOT;

fn cluster(servers: usize) -> Cluster {
    let config = futago_server::Config {
        split_entries: 16,
        ..Default::default()
    };
    Cluster::new(servers, config)
}

async fn names(client: &User, directory: FileId) -> Result<BTreeSet<String>, Errno> {
    let mut after = NameHash(0);
    let mut all = BTreeSet::new();
    loop {
        let entries = client.read_directory(directory, after, 7, false).await?;
        let Some(last) = entries.last() else {
            return Ok(all);
        };
        after = last.name.hash();
        for entry in entries {
            assert!(
                all.insert(entry.name.to_string()),
                "{} came twice",
                entry.name
            );
        }
    }
}

async fn exists(client: &User, directory: FileId, text: &str) -> Option<FileId> {
    match client.lookup(directory, &name(text)).await {
        Ok(state) => Some(state.attributes.id),
        Err(Errno::ENOENT) => None,
        Err(errno) => panic!("lookup of {text}: {errno}"),
    }
}

fn sent_names(sent: &[(u16, String)]) -> Vec<&str> {
    sent.iter().map(|(_, name)| name.as_str()).collect()
}

/// A directory deep enough that its children are born beside their entries.
async fn deep(client: &User) -> FileId {
    let mut at = ROOT;
    for text in ["one", "two", "three"] {
        at = make_directory(client, at, text).await;
    }
    at
}

#[test]
fn common_operations_send_one_message() {
    let cluster = cluster(4);
    let client = cluster.client();
    let deep = cluster.run(deep(&client));
    let f = name("f");
    let (made, sent) = cluster.traced(client.create(deep, &f, file(), true, true, data(b"hi")));
    assert_eq!(sent_names(&sent), ["Create"]);
    let id = made.unwrap().0.attributes.id;
    let (found, sent) = cluster.traced(client.lookup(deep, &f));
    assert_eq!(
        (found.unwrap().attributes.size, sent_names(&sent)),
        (2, vec!["Lookup"])
    );
    let (_, sent) = cluster.traced(client.attributes(id));
    assert_eq!(sent_names(&sent), ["GetAttributes"]);
    let (read, sent) = cluster.traced(client.read(id, 0, 100));
    assert_eq!(
        (read.unwrap(), sent_names(&sent)),
        (data(b"hi"), vec!["Read"])
    );
    let (_, sent) = cluster.traced(client.write(id, 2, data(b" you"), false));
    assert_eq!(sent_names(&sent), ["Write"]);
    let (_, sent) = cluster.traced(client.unlink(deep, &f));
    assert_eq!(sent_names(&sent), ["Unlink"]);
    let (_, sent) = cluster.traced(client.make_directory(deep, &name("d"), 0o755, 0, 0));
    assert_eq!(sent_names(&sent), ["MakeDirectory"]);
    let (removed, sent) = cluster.traced(client.remove_directory(deep, &name("d")));
    assert_eq!(
        (removed, sent_names(&sent)),
        (Ok(()), vec!["Lookup", "Execute"])
    );
    assert_eq!(sent[0].0, sent[1].0, "one server");
}

#[test]
fn the_attributes_of_a_wide_directory_take_one_message_to_each_server() {
    let cluster = cluster(4);
    let (client, stranger) = (cluster.client(), cluster.client());
    let wide = cluster.run(make_directory(&client, ROOT, "wide"));
    for number in 0..200 {
        cluster.run(make_file(&client, wide, &format!("file-{number}")));
    }
    for client in [&client, &stranger] {
        let (state, _) = cluster.traced(client.attributes(wide));
        assert_eq!(state.unwrap().attributes.size, 200);
        let (state, sent) = cluster.traced(client.attributes(wide));
        assert_eq!(state.unwrap().attributes.size, 200);
        let mut expected = vec!["GetAttributes"];
        expected.extend(["SumHeaders"; 4]);
        assert_eq!(sent_names(&sent), expected);
    }
}

#[test]
fn directories_near_the_root_are_spread() {
    let cluster = cluster(4);
    let client = cluster.client();
    let homes: BTreeSet<u16> = (0..16)
        .map(|i| cluster.run(make_directory(&client, ROOT, &format!("d{i}"))))
        .map(|id| client.map().home(id).0)
        .collect();
    assert!(homes.len() > 2, "{homes:?}");
    assert_eq!(
        cluster
            .run(client.attributes(ROOT))
            .unwrap()
            .attributes
            .links,
        18
    );
    for i in 0..16 {
        let name = name(&format!("d{i}"));
        assert_eq!(cluster.run(client.remove_directory(ROOT, &name)), Ok(()));
    }
    cluster.settle();
    assert_eq!(cluster.held().0, 1);
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn a_wide_directory_works_as_a_narrow_one() {
    let cluster = cluster(4);
    let (writer, reader) = (cluster.client(), cluster.client());
    cluster.run(async {
        let wide = make_directory(&writer, ROOT, "wide").await;
        // The reader knows one bucket.
        assert_eq!(names(&reader, wide).await, Ok(BTreeSet::new()));
        for i in 0..200 {
            make_file(&writer, wide, &format!("f{i}")).await;
        }
        let state = reader.attributes(wide).await.unwrap();
        assert_eq!(state.attributes.size, 200);
        assert!(
            state.directory.unwrap().header.level > 0,
            "it did not widen"
        );
        for i in 0..200 {
            assert!(exists(&reader, wide, &format!("f{i}")).await.is_some());
        }
        assert_eq!(names(&reader, wide).await.unwrap().len(), 200);
        assert_eq!(
            reader.remove_directory(ROOT, &name("wide")).await,
            Err(Errno::ENOTEMPTY)
        );
        for i in 0..200 {
            assert_eq!(reader.unlink(wide, &name(&format!("f{i}"))).await, Ok(()));
        }
        assert_eq!(reader.remove_directory(ROOT, &name("wide")).await, Ok(()));
        assert_eq!(writer.attributes(wide).await, Err(Errno::ESTALE));
        assert_eq!(exists(&writer, ROOT, "wide").await, None);
        let late = create(&writer, wide, "x", file(), (true, false));
        assert_eq!(late.await.map(|_| ()), Err(Errno::ENOENT));
        assert_eq!(writer.lookup(wide, &name("x")).await, Err(Errno::ENOENT));
        assert_eq!(names(&writer, wide).await, Err(Errno::ENOENT));
    });
    cluster.settle();
    assert_eq!(cluster.held(), (1, 0));
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn a_wide_directory_changes_as_a_whole() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let wide = make_directory(&client, ROOT, "wide").await;
        for i in 0..100 {
            make_file(&client, wide, &format!("f{i}")).await;
        }
        let then = Timestamp {
            seconds: 5,
            nanos: 6,
        };
        let change = AttributeChange {
            mode: Some(0o2711),
            gid: Some(77),
            modified: Some(SetTime::To(then)),
            ..Default::default()
        };
        let state = client.set_attributes(wide, change).await.unwrap();
        let seen = (
            state.attributes.mode,
            state.attributes.gid,
            state.attributes.modified,
        );
        assert_eq!(seen, (0o2711, 77, then));
        // Every bucket hands the group down.
        for i in 0..30 {
            let state = make_file(&client, wide, &format!("g{i}")).await;
            assert_eq!(state.attributes.gid, 77);
        }
        let modified = client.attributes(wide).await.unwrap().attributes.modified;
        assert!(modified > then);
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn listings_bring_attributes_of_every_entry() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        make_file(&client, ROOT, "f").await;
        let d = make_directory(&client, ROOT, "d").await;
        make_directory(&client, d, "sub").await;
        let entries = client
            .read_directory(ROOT, NameHash(0), 100, true)
            .await
            .unwrap();
        let mut found: Vec<_> = entries
            .iter()
            .map(|e| (e.name.to_string(), e.attributes.map(|a| (a.kind, a.links))))
            .collect();
        found.sort();
        let expected = [
            ("d".to_string(), Some((Kind::Directory, 3))),
            ("f".to_string(), Some((Kind::File, 1))),
        ];
        assert_eq!(found, expected);
    });
}

/// Lists a directory to its end, and tells how that came.
async fn list_all(client: &User, directory: FileId) -> (usize, Result<(), Errno>) {
    let (mut after, mut count) = (NameHash(0), 0);
    loop {
        let page = match client.read_directory(directory, after, 7, true).await {
            Err(errno) => return (count, Err(errno)),
            Ok(page) => page,
        };
        let Some(last) = page.last() else {
            return (count, Ok(()));
        };
        after = last.name.hash();
        count += page.len();
    }
}

#[test]
fn a_server_that_is_not_reached_hides_only_the_names_that_it_has() {
    let cluster = cluster(4);
    let maker = cluster.client();
    let wide = cluster.run(async {
        let wide = make_directory(&maker, ROOT, "wide").await;
        let made = (0..400).map(|i| format!("f{i}"));
        let made: Vec<_> = made.collect();
        join_all(made.iter().map(|name| make_file(&maker, wide, name))).await;
        wide
    });
    let home = maker.map().home(wide);
    let away = ServerId((home.0 + 2) % 4);
    let hidden = cluster.names_at(wide, away);
    assert!(hidden > 0);
    cluster.cut_off(Some(away));
    // It knows nothing of the directory's buckets yet.
    let client = cluster.client();
    cluster.run(async {
        let state = client.attributes(wide).await.unwrap();
        assert_eq!(state.attributes.kind, Kind::Directory);
        let (count, end) = list_all(&client, wide).await;
        assert_eq!(end, Err(Errno::EIO), "its listing is not whole");
        assert_eq!(count, 400 - hidden);
    });
    cluster.cut_off(None);
    cluster.run(async {
        client.context().sleep(Duration::from_secs(60)).await;
        client.context().start_anew();
        assert_eq!(names(&client, wide).await.map(|all| all.len()), Ok(400));
        assert_eq!(client.attributes(wide).await.unwrap().attributes.size, 400);
    });
}

#[test]
fn creating_what_exists() {
    let cluster = cluster(3);
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, ROOT, "f").await.attributes.id;
        let again = create(&client, ROOT, "f", file(), (true, false));
        assert_eq!(again.await.map(|_| ()), Err(Errno::EEXIST));
        let opened = create(&client, ROOT, "f", file(), (false, true));
        let (state, created) = opened.await.unwrap();
        assert_eq!((state.attributes.id, created), (id, false));
        // It is registered as open: it outlives its name.
        client.unlink(ROOT, &name("f")).await.unwrap();
        assert_eq!(client.attributes(id).await.unwrap().attributes.links, 0);
        client.close(id).await.unwrap();
        assert_eq!(client.attributes(id).await, Err(Errno::ESTALE));
        let made = client.make_directory(ROOT, &name("d"), 0o700, 0, 0).await;
        assert!(made.is_ok());
        let made = client.make_directory(ROOT, &name("d"), 0o700, 0, 0).await;
        assert_eq!(made, Err(Errno::EEXIST));
        assert_eq!(client.unlink(ROOT, &name("d")).await, Err(Errno::EISDIR));
        let f = make_file(&client, ROOT, "f").await.attributes.id;
        assert_eq!(
            client.remove_directory(ROOT, &name("f")).await,
            Err(Errno::ENOTDIR)
        );
        assert_eq!(client.lookup(f, &name("x")).await, Err(Errno::ENOTDIR));
        assert_eq!(names(&client, f).await, Err(Errno::ENOTDIR));
    });
}

#[test]
fn links_count_and_share_a_file() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, ROOT, "f").await.attributes.id;
        for i in 0..8 {
            let d = make_directory(&client, ROOT, &format!("d{i}")).await;
            let state = client.link(id, d, &name("other")).await.unwrap();
            assert_eq!(state.attributes.links, i + 2);
            assert_eq!(exists(&client, d, "other").await, Some(id));
            let again = client.link(id, d, &name("other")).await;
            assert_eq!(again, Err(Errno::EEXIST));
        }
        let d = exists(&client, ROOT, "d3").await.unwrap();
        assert_eq!(client.link(d, ROOT, &name("x")).await, Err(Errno::EPERM));
        client.unlink(d, &name("other")).await.unwrap();
        client.unlink(ROOT, &name("f")).await.unwrap();
        assert_eq!(client.attributes(id).await.unwrap().attributes.links, 7);
        client.remove_directory(ROOT, &name("d3")).await.unwrap();
        let gone = client.link(id, d, &name("other")).await;
        assert_eq!(gone, Err(Errno::ENOENT));
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn an_unnamed_file_can_be_given_a_name() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let made = client.create_unnamed(ROOT, file()).await.unwrap();
        let id = made.attributes.id;
        assert_eq!(made.attributes.links, 0);
        let d = make_directory(&client, ROOT, "d").await;
        let linked = client.link(id, d, &name("n")).await.unwrap();
        assert_eq!(linked.attributes.links, 1);
        client.close(id).await.unwrap();
        assert_eq!(exists(&client, d, "n").await, Some(id));
        let other = client.create_unnamed(ROOT, file()).await.unwrap();
        client.close(other.attributes.id).await.unwrap();
        assert_eq!(
            client.attributes(other.attributes.id).await,
            Err(Errno::ESTALE)
        );
    });
}

async fn rename(
    client: &User,
    from: (FileId, &str),
    to: (FileId, &str),
    flags: RenameFlags,
) -> Result<(), Errno> {
    client
        .rename(from.0, &name(from.1), to.0, &name(to.1), flags)
        .await
}

const PLAIN: RenameFlags = RenameFlags {
    no_replace: false,
    exchange: false,
    whiteout: None,
};
const NO_REPLACE: RenameFlags = RenameFlags {
    no_replace: true,
    ..PLAIN
};
const EXCHANGE: RenameFlags = RenameFlags {
    exchange: true,
    ..PLAIN
};
const LEAVING_A_WHITEOUT: RenameFlags = RenameFlags {
    whiteout: Some(Owner { uid: 7, gid: 8 }),
    ..PLAIN
};

#[test]
fn files_move_and_replace() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let b = make_directory(&client, ROOT, "b").await;
        for i in 0..10 {
            let (from, to) = (format!("f{i}"), format!("g{i}"));
            let id = make_file(&client, a, &from).await.attributes.id;
            let replaced = make_file(&client, b, &to).await.attributes.id;
            let refused = rename(&client, (a, &from), (b, &to), NO_REPLACE).await;
            assert_eq!(refused, Err(Errno::EEXIST));
            assert_eq!(rename(&client, (a, &from), (b, &to), PLAIN).await, Ok(()));
            assert_eq!(exists(&client, a, &from).await, None);
            assert_eq!(exists(&client, b, &to).await, Some(id));
            assert_eq!(client.attributes(replaced).await, Err(Errno::ESTALE));
            let state = client.attributes(id).await.unwrap().attributes;
            assert!(state.changed > state.born && state.links == 1);
        }
        let missing = rename(&client, (a, "x"), (b, "y"), PLAIN).await;
        assert_eq!(missing, Err(Errno::ENOENT));
        let id = exists(&client, b, "g1").await.unwrap();
        client.link(id, b, &name("same")).await.unwrap();
        assert_eq!(rename(&client, (b, "g1"), (b, "same"), PLAIN).await, Ok(()));
        assert_eq!(exists(&client, b, "g1").await, Some(id));
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

/// The whiteout belongs to one server, the names to others.
#[test]
fn a_whiteout_takes_the_place_of_what_moves() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let b = make_directory(&client, ROOT, "b").await;
        for i in 0..10 {
            let (from, to) = (format!("f{i}"), format!("g{i}"));
            let id = make_file(&client, a, &from).await.attributes.id;
            let replaced = make_file(&client, b, &to).await.attributes.id;
            let moved = rename(&client, (a, &from), (b, &to), LEAVING_A_WHITEOUT).await;
            assert_eq!(moved, Ok(()));
            assert_eq!(exists(&client, b, &to).await, Some(id));
            assert_eq!(client.attributes(replaced).await, Err(Errno::ESTALE));
            let left = client.lookup(a, &name(&from)).await.unwrap().attributes;
            assert_eq!((left.kind, left.device), (Kind::CharacterDevice, 0));
            assert_eq!((left.mode, left.links), (0, 1));
            assert_eq!((left.uid, left.gid), (7, 8));
        }
        let moved = make_directory(&client, a, "d").await;
        let renamed = rename(&client, (a, "d"), (b, "d"), LEAVING_A_WHITEOUT).await;
        assert_eq!(renamed, Ok(()));
        assert_eq!(client.parent(moved).await, Ok(b));
        assert_eq!(
            (links_of(&client, a).await, links_of(&client, b).await),
            (2, 3)
        );
        client.unlink(a, &name("d")).await.unwrap();
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn a_rename_that_fails_leaves_no_whiteout() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let taken = make_file(&client, a, "taken").await.attributes.id;
        let missing = rename(&client, (a, "x"), (a, "y"), LEAVING_A_WHITEOUT).await;
        assert_eq!(missing, Err(Errno::ENOENT));
        make_file(&client, a, "x").await;
        let flags = RenameFlags {
            no_replace: true,
            ..LEAVING_A_WHITEOUT
        };
        let refused = rename(&client, (a, "x"), (a, "taken"), flags).await;
        assert_eq!(refused, Err(Errno::EEXIST));
        assert_eq!(exists(&client, a, "taken").await, Some(taken));
        let flags = RenameFlags {
            exchange: true,
            ..LEAVING_A_WHITEOUT
        };
        let refused = rename(&client, (a, "x"), (a, "taken"), flags).await;
        assert_eq!(refused, Err(Errno::EINVAL));
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn directories_move_and_replace_empty_ones() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let b = make_directory(&client, ROOT, "b").await;
        let moved = make_directory(&client, a, "moved").await;
        make_file(&client, moved, "inside").await;
        let empty = make_directory(&client, b, "empty").await;
        let full = make_directory(&client, b, "full").await;
        make_file(&client, full, "x").await;
        make_file(&client, b, "file").await;
        let checks = [("full", Errno::ENOTEMPTY), ("file", Errno::ENOTDIR)];
        for (target, errno) in checks {
            assert_eq!(
                rename(&client, (a, "moved"), (b, target), PLAIN).await,
                Err(errno)
            );
        }
        assert_eq!(
            rename(&client, (b, "file"), (b, "empty"), PLAIN).await,
            Err(Errno::EISDIR)
        );
        assert_eq!(
            rename(&client, (a, "moved"), (b, "empty"), PLAIN).await,
            Ok(())
        );
        assert_eq!(client.attributes(empty).await, Err(Errno::ESTALE));
        assert_eq!(client.parent(moved).await, Ok(b));
        assert_eq!(exists(&client, b, "empty").await, Some(moved));
        assert!(exists(&client, moved, "inside").await.is_some());
        assert_eq!(
            (links_of(&client, a).await, links_of(&client, b).await),
            (2, 4)
        );
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

async fn links_of(client: &User, id: FileId) -> u32 {
    client
        .attributes(id)
        .await
        .expect("attributes")
        .attributes
        .links
}

#[test]
fn no_directory_comes_to_lie_below_itself() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let b = make_directory(&client, a, "b").await;
        let c = make_directory(&client, b, "c").await;
        for (directory, target) in [(a, "x"), (b, "x"), (c, "x")] {
            let below = rename(&client, (ROOT, "a"), (directory, target), PLAIN).await;
            assert_eq!(below, Err(Errno::EINVAL));
        }
        let up = rename(&client, (b, "c"), (ROOT, "a"), PLAIN).await;
        assert_eq!(up, Err(Errno::ENOTEMPTY));
        let exchange = rename(&client, (b, "c"), (ROOT, "a"), EXCHANGE).await;
        assert_eq!(exchange, Err(Errno::EINVAL));
    });
}

#[test]
fn opposite_moves_at_once_make_no_cycle() {
    let cluster = cluster(4);
    let clients = [cluster.client(), cluster.client()];
    cluster.run(async {
        let a = make_directory(&clients[0], ROOT, "a").await;
        let b = make_directory(&clients[0], ROOT, "b").await;
        let moves = [
            rename(&clients[0], (ROOT, "a"), (b, "a"), PLAIN),
            rename(&clients[1], (ROOT, "b"), (a, "b"), PLAIN),
        ];
        let outcomes = join_all(moves).await;
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "{outcomes:?}");
        let lost = outcomes.iter().find(|outcome| outcome.is_err());
        assert_eq!(lost, Some(&Err(Errno::EINVAL)));
        assert_eq!(names(&clients[0], ROOT).await.unwrap().len(), 1);
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn names_are_exchanged() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let a = make_directory(&client, ROOT, "a").await;
        let b = make_directory(&client, ROOT, "b").await;
        let d = make_directory(&client, a, "d").await;
        let f = make_file(&client, b, "f").await.attributes.id;
        assert_eq!(rename(&client, (a, "d"), (b, "f"), EXCHANGE).await, Ok(()));
        assert_eq!(exists(&client, a, "d").await, Some(f));
        assert_eq!(exists(&client, b, "f").await, Some(d));
        assert_eq!(client.parent(d).await, Ok(b));
        assert_eq!(
            (links_of(&client, a).await, links_of(&client, b).await),
            (2, 3)
        );
        let missing = rename(&client, (a, "d"), (b, "x"), EXCHANGE).await;
        assert_eq!(missing, Err(Errno::ENOENT));
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}

#[test]
fn renames_into_a_removed_directory_fail() {
    let cluster = cluster(4);
    let client = cluster.client();
    cluster.run(async {
        let gone = make_directory(&client, ROOT, "gone").await;
        make_file(&client, ROOT, "f").await;
        client.remove_directory(ROOT, &name("gone")).await.unwrap();
        let moved = rename(&client, (ROOT, "f"), (gone, "f"), PLAIN).await;
        assert_eq!(moved, Err(Errno::ENOENT));
    });
}

#[test]
fn many_renames_of_one_name_at_once_move_it_once() {
    let cluster = cluster(4);
    let clients: Vec<_> = (0..6).map(|_| cluster.client()).collect();
    cluster.run(async {
        let client = &clients[0];
        let source = make_directory(client, ROOT, "source").await;
        let id = make_file(client, source, "f").await.attributes.id;
        let mut targets = Vec::new();
        for i in 0..6 {
            targets.push(make_directory(client, ROOT, &format!("t{i}")).await);
        }
        let moves = clients.iter().zip(&targets);
        let moves =
            moves.map(|(client, &target)| rename(client, (source, "f"), (target, "f"), PLAIN));
        let outcomes = join_all(moves).await;
        let won: Vec<usize> = (0..6).filter(|&i| outcomes[i].is_ok()).collect();
        assert_eq!(won.len(), 1, "{outcomes:?}");
        for (i, &target) in targets.iter().enumerate() {
            let expected = (i == won[0]).then_some(id);
            assert_eq!(exists(client, target, "f").await, expected);
        }
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}
