//! Path resolution against real servers.

mod cluster;

use cluster::{Cluster, User, create, make_directory, make_file, symlink};
use futago_base::{Errno, FileId, Kind};
use futago_wire::FileState;

const ROOT: FileId = FileId::ROOT;

/// Makes `/a/b/f`, and symbolic links. Returns `b` and `f`.
async fn make_tree(client: &User) -> (FileId, FileId) {
    let a = make_directory(client, ROOT, "a").await;
    let b = make_directory(client, a, "b").await;
    let f = make_file(client, b, "f").await.attributes.id;
    for (at, text, target) in [
        (ROOT, "absolute", "/a/b"),
        (a, "relative", "../a//b/./f"),
        (a, "dir", "b/"),
        (ROOT, "loop", "loop"),
        (ROOT, "dangling", "nowhere"),
    ] {
        let made = create(client, at, text, symlink(target), (true, false));
        made.await.expect("create");
    }
    (b, f)
}

const fn id(state: &FileState) -> FileId {
    state.attributes.id
}

#[test]
fn paths_are_resolved() {
    let cluster = Cluster::new(3, futago_server::Config::default());
    let client = cluster.client();
    cluster.run(async {
        let (b, f) = make_tree(&client).await;
        for (path, expected) in [
            ("/", Ok(ROOT)),
            ("/..", Ok(ROOT)),
            ("a/b/f", Ok(f)),
            ("//a///b/", Ok(b)),
            ("/a/b/../b/f", Ok(f)),
            ("/absolute/f", Ok(f)),
            ("/a/relative", Ok(f)),
            ("/a/dir/f", Ok(f)),
            ("", Err(Errno::ENOENT)),
            ("/a/x", Err(Errno::ENOENT)),
            ("/a/x/y", Err(Errno::ENOENT)),
            ("/a/b/f/", Err(Errno::ENOTDIR)),
            ("/a/b/f/x", Err(Errno::ENOTDIR)),
            ("/a/b/f/..", Err(Errno::ENOTDIR)),
            ("/a/relative/", Err(Errno::ENOTDIR)),
            ("/loop", Err(Errno::ELOOP)),
            ("/dangling", Err(Errno::ENOENT)),
        ] {
            let found = client
                .resolve(path.as_bytes(), true)
                .await
                .map(|state| id(&state));
            assert_eq!(found, expected, "{path}");
        }
    });
}

#[test]
fn the_end_of_a_path_and_its_length_matter() {
    let cluster = Cluster::new(3, futago_server::Config::default());
    let client = cluster.client();
    cluster.run(async {
        let (b, _) = make_tree(&client).await;
        let link = client.resolve(b"/a/dir", false).await.unwrap();
        assert_eq!(link.attributes.kind, Kind::Symlink);
        assert_eq!(
            client
                .resolve(b"/a/dir/", false)
                .await
                .map(|state| id(&state)),
            Ok(b)
        );
        let long = vec![b'x'; 300];
        assert_eq!(client.resolve(&long, true).await, Err(Errno::ENAMETOOLONG));
        let long = "/a/..".repeat(820);
        assert_eq!(
            client.resolve(long.as_bytes(), true).await,
            Err(Errno::ENAMETOOLONG)
        );
        let long = "/a/..".repeat(819);
        assert_eq!(
            client
                .resolve(long.as_bytes(), true)
                .await
                .map(|state| id(&state)),
            Ok(ROOT)
        );
        let place = client.locate(b"/absolute/new/").await.unwrap();
        let seen = (place.directory, place.name.to_string());
        assert_eq!(seen, (b, "new".to_string()));
        assert_eq!(client.locate(b"/a/..").await, Err(Errno::EEXIST));
    });
}

/// A directory passes, because the operation itself refuses it.
#[test]
fn a_slash_at_the_end_of_a_path_demands_a_directory() {
    let cluster = Cluster::new(3, futago_server::Config::default());
    let client = cluster.client();
    cluster.run(async {
        make_tree(&client).await;
        for (path, expected) in [
            ("/a/b/f", Ok(())),
            ("/a/new", Ok(())),
            ("/a/b/", Ok(())),
            ("/a/new/", Err(Errno::ENOENT)),
            ("/a/b/f/", Err(Errno::ENOTDIR)),
            ("/a/b/f//", Err(Errno::ENOTDIR)),
            ("/a/dir/", Err(Errno::ENOTDIR)),
        ] {
            let place = client.locate(path.as_bytes()).await.unwrap();
            assert_eq!(client.check_slash(&place).await, expected, "{path}");
        }
    });
}
