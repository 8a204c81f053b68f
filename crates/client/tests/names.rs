//! Names with real servers: the results, and the number of messages.

mod cluster;

use cluster::{
    User, create, data, exists, file, make_directory, make_file, name, names, splitting_early,
};
use futago_base::{Duration, Errno, FileId, Kind, NameHash, ServerId, Timestamp};
use futago_client::{Context as _, CreateFlags, join_all};
use futago_wire::{AttributeChange, SetTime};
use std::collections::BTreeSet;

const ROOT: FileId = FileId::ROOT;

fn sent_names(sent: &[(u16, String)]) -> Vec<&str> {
    sent.iter().map(|(_, name)| name.as_str()).collect()
}

/// A directory deep enough that its children are created beside their entries.
async fn deep(client: &User) -> FileId {
    let mut at = ROOT;
    for text in ["one", "two", "three"] {
        at = make_directory(client, at, text).await;
    }
    at
}

#[test]
fn common_operations_send_one_message() {
    let cluster = splitting_early(4);
    let client = cluster.client();
    let deep = cluster.run(deep(&client));
    let f = name("f");
    let (made, sent) =
        cluster.traced(client.create(deep, &f, file(), CreateFlags::EXCLUSIVE_OPEN, data(b"hi")));
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
    let cluster = splitting_early(4);
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
        // The home sums its buckets with the attributes.
        expected.extend(["SumHeaders"; 3]);
        assert_eq!(sent_names(&sent), expected);
    }
}

#[test]
fn directories_near_the_root_are_spread() {
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
        // New nodes inherit the group in every bucket.
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
    let cluster = splitting_early(4);
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

/// Lists a directory to its end. Returns the number of names and the outcome.
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
    let cluster = splitting_early(4);
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
    // The client does not know the buckets of the directory yet.
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
    let cluster = splitting_early(3);
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, ROOT, "f").await.attributes.id;
        let again = create(&client, ROOT, "f", file(), (true, false));
        assert_eq!(again.await.map(|_| ()), Err(Errno::EEXIST));
        let opened = create(&client, ROOT, "f", file(), (false, true));
        let (state, created) = opened.await.unwrap();
        assert_eq!((state.attributes.id, created), (id, false));
        // The file is registered as open, so it outlives its name.
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
