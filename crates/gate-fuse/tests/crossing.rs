//! A look-up and a listing of one directory that the kernel takes in side by side.

mod fixture;

use fixture::hold::{do_with, hold, let_go, make_directory, make_file, name, until_asked_for};
use fixture::{Twins, client};
use futago_base::{FileId, Name};
use futago_client::RenameFlags;
use futago_node::RecordedClient;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Much longer than either takes.
const END_MAX: Duration = Duration::from_secs(10);

/// A directory with a file, a subdirectory after it, and a file that lives on another server than
/// the subdirectory.
struct Scene {
    parent: FileId,
    first: Name,
    second: Name,
    subdirectory: FileId,
    file: FileId,
}

/// Where a subdirectory lives depends on the directory's identity, so several are tried.
async fn make_scene(client: &RecordedClient) -> Scene {
    let map = client.map();
    let mut number = 0;
    loop {
        let at = name(&format!("d{number}"));
        let scene = try_scene(client, &at).await;
        if map.home(scene.file) != map.home(scene.subdirectory) {
            let (root, to, flags) = (FileId::ROOT, name("d"), RenameFlags::default());
            let named = client.rename(root, &at, root, &to, flags).await;
            named.expect("renamed");
            return scene;
        }
        number += 1;
    }
}

async fn try_scene(client: &RecordedClient, at: &Name) -> Scene {
    let parent = make_directory(client, FileId::ROOT, at).await;
    let mut names = ["one", "two"].map(name);
    names.sort_by_key(Name::hash);
    let [first, second] = names;
    make_file(client, parent, &first).await;
    let subdirectory = make_directory(client, parent, &second).await;
    let file = make_file(client, parent, &name("file")).await;
    Scene {
        parent,
        first,
        second,
        subdirectory,
        file,
    }
}

async fn exchange(client: &RecordedClient, scene: &Scene) {
    let flags = RenameFlags {
        exchange: true,
        ..RenameFlags::default()
    };
    let (parent, first, second) = (scene.parent, &scene.first, &scene.second);
    let exchanged = client.rename(parent, first, parent, second, flags).await;
    exchanged.expect("exchanged");
}

fn begin(
    ended: &mpsc::Sender<&'static str>,
    what: &'static str,
    work: impl FnOnce() + Send + 'static,
) {
    let ended = ended.clone();
    thread::spawn(move || {
        work();
        // The test may have failed meanwhile.
        let _ = ended.send(what);
    });
}

/// The listing knows the subdirectory under the name that it had before; the look-up finds it under
/// the other one. Did the kernel take nodes from the listing, it would wait there for the look-up,
/// whose answer waits until the kernel knows the subdirectory.
#[test]
fn a_listing_does_not_wait_for_a_look_up() {
    let Some(twins) = Twins::start() else { return };
    let other = client(&twins.cluster);
    let scene = do_with(&other, make_scene);
    let directory = twins.path(0, "d");
    let sought: PathBuf = directory.join(String::from_utf8_lossy(scene.first.as_bytes()).as_ref());
    let (ended, ends) = mpsc::channel();

    let file_held = do_with(&other, async |client| hold(client, scene.file).await);
    let opened = fs::read_dir(directory).expect("opened");
    begin(&ended, "the listing", move || {
        let _ = opened.count();
    });
    let subdirectory_held = do_with(&other, async |client| {
        until_asked_for(client, scene.file).await;
        exchange(client, &scene).await;
        hold(client, scene.subdirectory).await
    });
    begin(&ended, "the look-up", move || {
        let _ = fs::metadata(sought);
    });
    do_with(&other, async |client| {
        until_asked_for(client, scene.subdirectory).await;
        let_go(client, scene.file, file_held).await;
    });
    assert_eq!(ends.recv_timeout(END_MAX), Ok("the listing"));
    do_with(&other, async |client| {
        let_go(client, scene.subdirectory, subdirectory_held).await;
    });
    assert_eq!(ends.recv_timeout(END_MAX), Ok("the look-up"));
}
