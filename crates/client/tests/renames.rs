//! Renames against real servers.

mod cluster;

use cluster::{User, exists, make_directory, make_file, name, names, splitting_early};
use futago_base::{Errno, FileId, Kind, Payload};
use futago_client::{Context, Owner, RenameFlags, join_all};
use futago_wire::{Request, inspection::Repair};
use std::pin::Pin;

const ROOT: FileId = FileId::ROOT;

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
    let cluster = splitting_early(4);
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

/// The whiteout and the names are on different servers.
#[test]
fn a_whiteout_takes_the_place_of_what_moves() {
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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
    let cluster = splitting_early(4);
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

/// Under leases no parent is asked for, so nothing else would end a walk in a circle.
#[test]
fn a_rename_into_a_circle_of_directories_fails() {
    let cluster = splitting_early(4);
    let client = cluster.caching_client();
    let renamed = async {
        let outer = make_directory(&client, ROOT, "outer").await;
        let inner = make_directory(&client, outer, "inner").await;
        make_directory(&client, ROOT, "moved").await;
        let request = Request::Repair(Repair::SetParent(outer, inner));
        let context = client.context();
        let (home, number) = (client.map().home(outer), context.next_sequence());
        let repaired = context.call(home, number, request, Payload::empty()).await;
        repaired.expect("a damaged tree");
        rename(&client, (ROOT, "moved"), (inner, "moved"), PLAIN).await
    };
    let renamed = cluster.run(cluster.answering(&client, renamed));
    assert_eq!(renamed, Err(Errno::EIO));
}

/// While a client follows the parents of `low` to the root, another one moves `low` to the root,
/// and the top of the way below it. There was never a circle.
#[test]
fn a_way_to_the_root_that_changes_is_followed_again() {
    let cluster = splitting_early(4);
    let (client, other) = (cluster.client(), cluster.client());
    cluster.run(async {
        make_directory(&client, ROOT, "moved").await;
        let top = make_directory(&client, ROOT, "top").await;
        let mut last = top;
        for _ in 0..60 {
            last = make_directory(&client, last, "below").await;
        }
        let low = make_directory(&client, last, "low").await;
        let moved = async { vec![rename(&client, (ROOT, "moved"), (low, "moved"), PLAIN).await] };
        let changed = async {
            let up = rename(&other, (last, "low"), (ROOT, "low"), PLAIN).await;
            vec![up, rename(&other, (ROOT, "top"), (low, "top"), PLAIN).await]
        };
        let both: [Pin<Box<dyn Future<Output = _>>>; 2] = [Box::pin(moved), Box::pin(changed)];
        assert_eq!(join_all(both).await, [vec![Ok(())], vec![Ok(()), Ok(())]]);
        assert!(exists(&client, low, "moved").await.is_some());
    });
    cluster.settle();
    assert_eq!(cluster.left_over(), []);
}
