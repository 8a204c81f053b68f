//! The directory behind a cluster gets everything that changes in the cluster, and loses nothing
//! that others have put there.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod description;

use cluster::{Running, start};
use description::describe;
use futago_client::RenameFlags;
use futago_node::{
    Loading, Options,
    blocking::{FileSystem, OpenOptions},
};
use futago_staging::{
    Backing, BackingPlan, ClusterTree, Contents, Direction, Failure, Found, Item, Links, Owner,
    Pass, Present, Progress, Rules, Setup, Stage, Tree, TreePath, Unreachable, Verification,
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// A cluster with a directory behind it.
struct Backed {
    running: Running,
    /// A number that a restarted server changes.
    life: Arc<AtomicU64>,
    loading: Loading,
}

impl Backed {
    fn start() -> Self {
        Self::loading(Loading::OnDemand)
    }

    fn loading(loading: Loading) -> Self {
        let running = start(2);
        fs::create_dir(running.directory.path().join("slow")).unwrap();
        Self {
            running,
            life: Arc::new(AtomicU64::new(1)),
            loading,
        }
    }

    fn slow(&self) -> PathBuf {
        self.running.directory.path().join("slow")
    }

    /// The agent; one that continues if there was one before.
    fn agent(&self) -> Backing {
        let plan = BackingPlan {
            directory: self.slow(),
            state: self.running.directory.path().join("state"),
            cluster: self.running.cluster.text().unwrap().to_string(),
            clients: 2,
            loading: self.loading,
        };
        let life = Arc::clone(&self.life);
        let lives = Box::new(move || Ok(vec![life.load(Ordering::Relaxed)]));
        Backing::open(plan, Arc::new(AtomicBool::new(false)), lives).unwrap()
    }

    fn files(&self) -> FileSystem {
        FileSystem::connect(&self.running.cluster, Options::default()).unwrap()
    }

    /// Copies the whole cluster to a new directory.
    fn copy(&self) -> PathBuf {
        let out = tempfile::tempdir_in(self.running.directory.path())
            .unwrap()
            .keep();
        let rules = Rules {
            owner: Owner::of_this_process(),
            present: Present::Replaced,
            verification: Verification::Checksums,
            unreachable: Unreachable::EndsCopy,
            part_bytes: 1 << 20,
            contents: Contents::Copied,
        };
        let setup = Setup {
            cluster: self.running.cluster.text().unwrap().to_string(),
            direction: Direction::Out,
            rules,
            clients: 2,
        };
        let root = TreePath::root();
        let tree = ClusterTree::connect(&self.running.cluster).unwrap();
        let item = Item {
            metadata: tree.metadata(&root, Links::Unfollowed).unwrap().unwrap(),
            source: root,
            target: (&*out).into(),
            found: Found::Other,
        };
        let clients = setup.clients(&Arc::new(AtomicBool::new(false))).unwrap();
        let summary = Stage::new(clients, rules, &Unwatched).run(vec![item], None);
        assert!(summary.is_complete(), "{summary:?}");
        out
    }
}

/// Nobody watches.
struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _: u64) {}
    fn advance(&self, _: u64) {}
    fn fail(&self, _: &Failure) {}
}

fn flush(agent: &mut Backing) -> Pass {
    agent.flush().unwrap()
}

fn assert_flushed(pass: &Pass) {
    assert_eq!(pass.unflushed.files, 0, "{pass:?}");
    assert!(pass.unflushed.failures.is_empty(), "{pass:?}");
}

fn write(files: &FileSystem, path: &str, data: &[u8]) {
    let options = OpenOptions {
        create: true,
        truncate: true,
        mode: 0o640,
        ..OpenOptions::default()
    };
    let file = files.open(path.as_bytes(), options).unwrap();
    file.write_at(0, data.to_vec().into()).unwrap();
    file.close().unwrap();
}

/// Something that a program does, or the agent.
#[derive(Clone, Debug)]
enum Step {
    Write(String, u8, usize),
    MakeDirectory(String),
    Remove(String),
    RemoveDirectory(String),
    Rename(String, String),
    Symlink(String),
    Exchange(String, String),
    Link(String, String),
    WriteBack,
    RestartAgent,
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof!["a", "b", "c"];
    prop::collection::vec(name, 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (path(), any::<u8>(), prop_oneof![0..100_usize, 0..100_000_usize]).prop_map(|(path, byte, size)| Step::Write(path, byte, size)),
        4 => path().prop_map(Step::MakeDirectory),
        2 => path().prop_map(Step::Remove),
        2 => path().prop_map(Step::RemoveDirectory),
        3 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Exchange(from, to)),
        1 => path().prop_map(Step::Symlink),
        2 => (path(), path()).prop_map(|(from, to)| Step::Link(from, to)),
        3 => Just(Step::WriteBack),
        1 => Just(Step::RestartAgent),
    ]
}

/// Takes a step of a program. It may fail, as a program's steps do.
fn take(files: &FileSystem, step: &Step) {
    match step {
        Step::Write(path, byte, size) => {
            let options = OpenOptions {
                create: true,
                truncate: true,
                mode: 0o644,
                ..OpenOptions::default()
            };
            if let Ok(file) = files.open(path.as_bytes(), options) {
                file.write_at(0, vec![*byte; *size].into()).unwrap();
                file.close().unwrap();
            }
        }
        Step::MakeDirectory(path) => drop(files.create_directory(path.as_bytes(), 0o755)),
        Step::Remove(path) => drop(files.remove_file(path.as_bytes())),
        Step::RemoveDirectory(path) => drop(files.remove_directory(path.as_bytes())),
        Step::Rename(from, to) => drop(files.rename(from.as_bytes(), to.as_bytes())),
        Step::Symlink(path) => drop(files.symlink(b"somewhere", path.as_bytes())),
        Step::Exchange(one, other) => exchange(files, one, other),
        Step::Link(from, to) => {
            let _ = files.run(async |client| {
                let file = client.resolve(from.as_bytes(), false).await?.attributes.id;
                let place = client.locate(to.as_bytes()).await?;
                client.link(file, place.directory, &place.name).await
            });
        }
        Step::WriteBack | Step::RestartAgent => {}
    }
}

/// Exchanges two names, if both exist.
fn exchange(files: &FileSystem, one: &str, other: &str) {
    let flags = RenameFlags {
        exchange: true,
        ..RenameFlags::default()
    };
    let _ = files.run(async |client| {
        let from = client.locate(one.as_bytes()).await?;
        let to = client.locate(other.as_bytes()).await?;
        let (to, name) = (to.directory, to.name);
        let renamed = client.rename(from.directory, &from.name, to, &name, flags);
        renamed.await
    });
}

/// A tree that a cluster begins with: all files have the same size and time.
fn fill(slow: &Path) {
    fs::create_dir_all(slow.join("a/c")).unwrap();
    fs::create_dir(slow.join("b")).unwrap();
    for (name, byte) in [("a/a", 1), ("a/b", 2), ("a/c/a", 3), ("b/a", 4), ("b/b", 5)] {
        let path = slow.join(name);
        fs::write(&path, [byte; 50]).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    fs::hard_link(slow.join("a/a"), slow.join("b/c")).unwrap();
}

fn work(steps: &[Step], loading: Loading) {
    let backed = Backed::loading(loading);
    fill(&backed.slow());
    let files = backed.files();
    let mut agent = backed.agent();
    for step in steps {
        take(&files, step);
        match step {
            Step::WriteBack => assert_flushed(&flush(&mut agent)),
            Step::RestartAgent => agent = backed.agent(),
            _ => {}
        }
    }
    assert_flushed(&flush(&mut agent));
    assert_eq!(agent.unflushed().unwrap().files, 0);
    let (slow, copy) = (describe(&backed.slow()), describe(&backed.copy()));
    let is_same = |path: &&Vec<u8>| slow.get(*path) == copy.get(*path);
    let mut different: Vec<_> = slow.keys().chain(copy.keys()).collect();
    different.retain(|path| !is_same(path));
    let shown = different.iter().map(|path| {
        let sides = [&slow, &copy].map(|side| side.get(*path).map(|it| (it, it.data.first())));
        let text = format!("{:?}", sides)
            .replace("1, 1, ", "")
            .replace("2, 2, ", "");
        (
            String::from_utf8_lossy(path),
            text.chars().take(900).collect::<String>(),
        )
    });
    assert!(different.is_empty(), "{:?}", shown.collect::<Vec<_>>());
}

#[test]
fn the_directory_becomes_what_the_cluster_is_whatever_is_done() {
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..40);
    let loading = prop_oneof![Just(Loading::OnDemand), Just(Loading::First)];
    let test = |(steps, loading): (Vec<Step>, Loading)| {
        work(&steps, loading);
        Ok(())
    };
    TestRunner::new(config)
        .run(&(steps, loading), test)
        .unwrap();
}

#[test]
fn files_of_one_size_and_time_that_change_places_are_written_back() {
    for loading in [Loading::OnDemand, Loading::First] {
        let backed = Backed::loading(loading);
        let slow = backed.slow();
        fill(&slow);
        let mut agent = backed.agent();
        let files = backed.files();
        exchange(&files, "/a/b", "/b/b");
        files.rename(b"/a/c/a", b"/b/a").unwrap();
        assert_flushed(&flush(&mut agent));
        let bytes = |name: &str| fs::read(slow.join(name)).unwrap();
        for (name, byte) in [("a/a", 1), ("a/b", 5), ("b/b", 2), ("b/a", 3), ("b/c", 1)] {
            assert_eq!(bytes(name), [byte; 50], "{name}");
        }
    }
}

#[test]
fn data_is_loaded_when_a_program_needs_it() {
    let backed = Backed::start();
    fill(&backed.slow());
    fs::write(backed.slow().join("large"), vec![7; 10_000_000]).unwrap();
    fs::write(backed.slow().join("empty"), b"").unwrap();
    let agent = backed.agent();
    let files = backed.files();
    assert_eq!(
        agent.released_files(),
        6,
        "hard links count once, empty files not"
    );
    assert_eq!(files.metadata(b"/large", true).unwrap().size, 10_000_000);
    let file = files.open(b"/large", OpenOptions::default()).unwrap();
    assert!(file.read_at(9_999_000, 2000).unwrap() == vec![7; 1000]);
    let file = files.open(b"/b/c", OpenOptions::default()).unwrap();
    assert!(file.read_at(0, 5000).unwrap() == vec![1; 50]);
    assert_eq!(
        agent.unflushed().unwrap().files,
        0,
        "loading changes nothing"
    );
    assert!(agent.released_files() <= 5);
}

#[test]
fn what_others_change_before_it_is_loaded_is_an_error() {
    let backed = Backed::start();
    fill(&backed.slow());
    let mut agent = backed.agent();
    let files = backed.files();
    fs::write(backed.slow().join("a/b"), b"by others").unwrap();
    let opened = files.open(b"/a/b", OpenOptions::default());
    assert_eq!(opened.err().unwrap().raw_os_error(), Some(libc::EREMOTEIO));
    let failure = agent.take_load_failure().unwrap().to_string();
    assert!(
        failure.contains("slow/a/b") && failure.contains("by others"),
        "{failure}"
    );
    files.rename(b"/a/b", b"/elsewhere").unwrap();
    let pass = flush(&mut agent);
    assert_eq!(pass.unflushed.files, 2, "{pass:?}");
    assert_eq!(fs::read(backed.slow().join("a/b")).unwrap(), b"by others");
}

#[test]
fn what_others_change_in_the_directory_stays() {
    let backed = Backed::loading(Loading::First);
    let slow = backed.slow();
    for name in ["changed", "removed", "free"] {
        fs::write(slow.join(name), b"before").unwrap();
    }
    let mut agent = backed.agent();
    let files = backed.files();
    for name in ["changed", "removed"] {
        fs::write(slow.join(name), b"by others").unwrap();
    }
    write(&files, "/changed", b"by a program");
    write(&files, "/free", b"by a program");
    write(&files, "/new", b"by a program");
    fs::write(slow.join("new"), b"by others").unwrap();
    files.remove_file(b"/removed").unwrap();
    let pass = flush(&mut agent);
    assert_eq!(pass.unflushed.files, 3, "{pass:?}");
    let named = |name: &str| {
        pass.unflushed
            .failures
            .iter()
            .any(|f| f.path.to_string().ends_with(name))
    };
    assert!(
        ["changed", "removed", "new"].iter().all(|name| named(name)),
        "{pass:?}"
    );
    for name in ["changed", "removed", "new"] {
        assert_eq!(fs::read(slow.join(name)).unwrap(), b"by others", "{name}");
    }
    assert_eq!(fs::read(slow.join("free")).unwrap(), b"by a program");
    // Without the others' files the changes go there.
    for name in ["changed", "removed", "new"] {
        fs::remove_file(slow.join(name)).unwrap();
    }
    assert_flushed(&flush(&mut agent));
    assert_eq!(describe(&slow), describe(&backed.copy()));
}

#[test]
fn a_restarted_server_has_lost_files_that_nobody_has_removed() {
    let backed = Backed::start();
    fs::write(backed.slow().join("file"), b"precious").unwrap();
    let mut agent = backed.agent();
    let files = backed.files();
    // As if the server came back without its files.
    files.remove_file(b"/file").unwrap();
    backed.life.store(2, Ordering::Relaxed);
    for agent in [&mut agent, &mut backed.agent()] {
        let refused = agent.write_back(None).unwrap_err();
        assert!(refused.cause.contains("restarted"), "{refused}");
        assert!(agent.unflushed().is_err());
    }
    assert_eq!(fs::read(backed.slow().join("file")).unwrap(), b"precious");
}

#[test]
fn a_server_that_is_gone_removes_nothing() {
    let mut backed = Backed::start();
    for number in 0..50 {
        let directory = backed.slow().join(format!("{number}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), b"precious").unwrap();
    }
    let before = describe(&backed.slow());
    let mut agent = backed.agent();
    backed.running.servers.remove(1).stop().unwrap();
    assert!(agent.write_back(None).is_err());
    assert_eq!(describe(&backed.slow()), before);
}

#[test]
fn files_that_are_not_at_rest_wait() {
    let backed = Backed::start();
    let mut agent = backed.agent();
    write(&backed.files(), "/file", b"data");
    let hour = std::time::Duration::from_secs(3600);
    let pass = agent.write_back(Some(hour)).unwrap();
    assert!(!Path::new(&backed.slow().join("file")).exists(), "{pass:?}");
    assert_eq!(agent.unflushed().unwrap().bytes, 4);
    assert_flushed(&flush(&mut agent));
    assert_eq!(fs::read(backed.slow().join("file")).unwrap(), b"data");
}
