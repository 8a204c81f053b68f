//! A look-up and a listing of one directory that the kernel takes in side by side.

mod fixture;

use fixture::{Twins, client};
use futago_base::{FileId, Name, Payload, ServerId, TransactionId};
use futago_client::{Context, RenameFlags};
use futago_node::server::Status;
use futago_node::{Client, Futago};
use futago_wire::{NewContent, NewNode, Reply, Request, Step};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Much longer than either takes.
const END_MAX: Duration = Duration::from_secs(10);

/// A directory with a file, a subdirectory after it, and a file that lives on another server than the subdirectory.
struct Scene {
    parent: FileId,
    first: Name,
    second: Name,
    subdirectory: FileId,
    file: FileId,
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).expect("a name")
}

async fn make_file(client: &Client, parent: FileId, at: &Name) -> FileId {
    let node = NewNode {
        content: NewContent::File { chunk_bytes: 4096 },
        mode: 0o644,
        uid: 0,
        gid: 0,
    };
    let made = client.create(parent, at, node, true, false, Payload::empty());
    made.await.expect("made").0.attributes.id
}

async fn make_directory(client: &Client, parent: FileId, at: &Name) -> FileId {
    let made = client.make_directory(parent, at, 0o755, 0, 0).await;
    made.expect("made").attributes.id
}

async fn make_scene(client: &Client) -> Scene {
    let parent = make_directory(client, FileId::ROOT, &name("d")).await;
    let mut names = ["one", "two"].map(name);
    names.sort_by_key(Name::hash);
    let [first, second] = names;
    make_file(client, parent, &first).await;
    let subdirectory = make_directory(client, parent, &second).await;
    let map = client.map();
    let mut file = subdirectory;
    for number in 0.. {
        if map.home(file) != map.home(subdirectory) {
            break;
        }
        file = make_file(client, parent, &name(&format!("file-{number}"))).await;
    }
    Scene {
        parent,
        first,
        second,
        subdirectory,
        file,
    }
}

async fn ask(client: &Client, server: ServerId, request: Request) -> Reply {
    let context = client.context();
    let sequence = context.next_sequence();
    let asked = context.call(server, sequence, request, Payload::empty());
    asked.await.expect("an answer").0
}

/// Reserves a node: who asks for its attributes waits, for the grace time at most.
async fn hold(client: &Client, node: FileId) -> TransactionId {
    let context = client.context();
    let transaction = TransactionId {
        session: context.session(),
        sequence: context.next_sequence(),
    };
    let server = client.map().home(node);
    let request = Request::Prepare {
        transaction,
        age: context.now(),
        status_server: server,
        participants: vec![server],
        steps: vec![Step::Touch(node)],
    };
    ask(client, server, request).await;
    transaction
}

async fn let_go(client: &Client, node: FileId, transaction: TransactionId) {
    let request = Request::Decide {
        transaction,
        commit: false,
    };
    ask(client, client.map().home(node), request).await;
}

/// Waits until somebody waits for the attributes of a node that is held.
async fn until_asked_for(client: &Client, node: FileId) {
    let server = client.map().home(node);
    loop {
        let Reply::Bytes(json) = ask(client, server, Request::GetStatus).await else {
            continue;
        };
        let status: Status = serde_json::from_slice(&json).expect("a status");
        if status.under_way > 0 {
            return;
        }
    }
}

async fn exchange(client: &Client, scene: &Scene) {
    let flags = RenameFlags {
        exchange: true,
        ..RenameFlags::default()
    };
    let (parent, first, second) = (scene.parent, &scene.first, &scene.second);
    let exchanged = client.rename(parent, first, parent, second, flags).await;
    exchanged.expect("exchanged");
}

fn do_with<T: Send>(other: &Futago, work: impl AsyncFnOnce(&Client) -> T) -> T {
    other
        .run_blocking(async |client| work(client).await)
        .expect("a client")
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

/// The listing knows the subdirectory under the name that it had before; the look-up finds it under the other one. Did the
/// kernel take nodes from the listing, it would wait there for the look-up, whose answer waits until the kernel knows the subdirectory.
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
