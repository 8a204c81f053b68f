//! Trees that go into a cluster and out of it again, as they were.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod description;
mod trees;

use cluster::{Running, start};
use description::describe;
use futago_staging::{
    Answer, ClusterTree, Contents, Direction, Failure, Found, Item, Links, LocalTree, Owner,
    Perform, Present, Progress, Reach, Rules, Setup, Stage, Summary, Task, Tree, TreePath,
    Unreachable, Verification,
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Nobody watches.
struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _: u64) {}
    fn advance(&self, _: u64) {}
    fn fail(&self, _: &Failure) {}
}

const RULES: Rules = Rules {
    owner: Owner::Copied,
    present: Present::SameMetadata,
    verification: Verification::Checksums,
    unreachable: Unreachable::EndsCopy,
    part_bytes: 50_000,
    contents: Contents::Copied,
};

impl Running {
    fn clients(&self, direction: Direction) -> Vec<Box<dyn Perform>> {
        let setup = Setup {
            cluster: self.cluster.text().unwrap().to_string(),
            direction,
            rules: Rules {
                owner: Owner::of_this_process(),
                ..RULES
            },
            clients: 3,
        };
        setup.clients(&Arc::new(AtomicBool::new(false))).unwrap()
    }

    fn tree(&self) -> ClusterTree {
        ClusterTree::connect(&self.cluster).unwrap()
    }

    fn put(&self, tree: &Path, target: &str) -> Summary {
        copy(self.clients(Direction::In), &local(tree), target)
    }

    fn get(&self, source: &str, to: &Path) -> Summary {
        let item = item(&self.tree(), &source.parse().unwrap(), to.into());
        Stage::new(self.clients(Direction::Out), RULES, &Unwatched)
            .run(vec![item], Some(&to.into()))
    }
}

fn item(tree: &impl Tree, source: &TreePath, target: TreePath) -> Item {
    Item {
        source: source.clone(),
        target,
        metadata: tree.metadata(source, Links::Unfollowed).unwrap().unwrap(),
        found: Found::Other,
    }
}

fn local(tree: &Path) -> TreePath {
    tree.into()
}

fn copy(clients: Vec<Box<dyn Perform + '_>>, source: &TreePath, target: &str) -> Summary {
    let item = item(&LocalTree, source, target.parse().unwrap());
    Stage::new(clients, RULES, &Unwatched).run(vec![item], None)
}

fn assert_complete(summary: &Summary) {
    assert!(summary.is_complete(), "{summary:?}");
}

#[test]
fn any_tree_comes_back_as_it_was() {
    let running = start(2);
    let mut number = 0;
    let test = |nodes: Vec<trees::Node>| {
        number += 1;
        let directory = tempfile::tempdir_in(running.directory.path()).unwrap();
        let (tree, back) = (directory.path().join("tree"), directory.path().join("back"));
        fs::create_dir(&tree).unwrap();
        trees::plant(&tree, &nodes);
        let target = format!("/{number}");
        assert_complete(&running.put(&tree, &target));
        assert_complete(&running.get(&target, &back));
        prop_assert_eq!(describe(&tree), describe(&back));
        // Nothing is left to copy, in either direction.
        for summary in [running.put(&tree, &target), running.get(&target, &back)] {
            assert_complete(&summary);
            prop_assert_eq!(summary.counts.files + summary.counts.symlinks, 0);
        }
        prop_assert_eq!(describe(&tree), describe(&back));
        Ok(())
    };
    let test = Mutex::new(test);
    let config = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    runner
        .run(&trees::nodes(), |nodes| test.lock().unwrap()(nodes))
        .unwrap();
}

/// A client that ends the copy after so many tasks, as a killed process does.
struct Ended<'a> {
    client: Box<dyn Perform>,
    left: &'a AtomicUsize,
}

impl Perform for Ended<'_> {
    fn perform(&self, task: &Task) -> Answer {
        let take = |left: usize| left.checked_sub(1);
        match self
            .left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, take)
        {
            Ok(_) => self.client.perform(task),
            Err(_) => Answer {
                failures: vec![Failure::interrupted(&"/".parse().unwrap())],
                ..Answer::default()
            },
        }
    }
}

#[test]
fn a_run_that_is_ended_anywhere_is_continued_by_the_next() {
    let running = start(2);
    let tree = running.directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let large: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(tree.join("large"), &large).unwrap();
    for number in 0..100 {
        fs::write(tree.join(format!("{number}")), vec![number; 300]).unwrap();
    }
    let mut bytes = 0;
    for tasks in 1.. {
        let left = AtomicUsize::new(tasks);
        let clients = running.clients(Direction::In);
        let ended = |client| -> Box<dyn Perform + '_> {
            Box::new(Ended {
                client,
                left: &left,
            })
        };
        let summary = copy(
            clients.into_iter().map(ended).collect(),
            &local(&tree),
            "/copy",
        );
        bytes += summary.counts.bytes;
        if summary.is_complete() {
            break;
        }
        assert_eq!(summary.ended_by, Some(Reach::Interrupted));
        // The file has its name when it is whole, and not before.
        let path = "/copy/large".parse().unwrap();
        if running
            .tree()
            .metadata(&path, Links::Unfollowed)
            .is_ok_and(|found| found.is_some())
        {
            let early = running.directory.path().join("early");
            assert_complete(&running.get("/copy/large", &early));
            assert!(fs::read(early).unwrap() == large);
        }
    }
    // Parts whose record was lost are copied twice, and no others.
    assert!(bytes < 4_000_000, "{bytes} bytes were copied");
    let back = running.directory.path().join("back");
    assert_complete(&running.get("/copy", &back));
    assert_eq!(describe(&tree), describe(&back));
}

/// A client before whose tasks something happens.
struct Disturbed<F> {
    client: Box<dyn Perform>,
    before: F,
}

impl<F: Fn(&Task) + Send + Sync> Perform for Disturbed<F> {
    fn perform(&self, task: &Task) -> Answer {
        (self.before)(task);
        self.client.perform(task)
    }
}

fn disturbed<'a>(
    clients: Vec<Box<dyn Perform>>,
    before: impl Fn(&Task) + Copy + Send + Sync + 'a,
) -> Vec<Box<dyn Perform + 'a>> {
    let disturbed = |client| -> Box<dyn Perform + 'a> { Box::new(Disturbed { client, before }) };
    clients.into_iter().map(disturbed).collect()
}

#[test]
fn sources_that_change_are_reported_and_not_named() {
    let running = start(1);
    let tree = running.directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let (small, large) = (tree.join("small"), tree.join("large"));
    fs::write(&small, b"small").unwrap();
    fs::write(&large, vec![1; 200_000]).unwrap();
    let change = |task: &Task| match task {
        Task::Nodes(_) => fs::write(&small, b"other").unwrap(),
        Task::Finish(_) => File::options()
            .write(true)
            .open(&large)
            .unwrap()
            .write_all_at(b"x", 0)
            .unwrap(),
        _ => {}
    };
    let summary = copy(
        disturbed(running.clients(Direction::In), change),
        &local(&tree),
        "/copy",
    );
    assert_eq!(summary.failed, 2, "{summary:?}");
    let is_change = |failure: &Failure| failure.cause.contains("changed");
    assert!(summary.failures.iter().all(is_change), "{summary:?}");
    let out = running.directory.path().join("out");
    let unfinished = running.get("/copy", &out);
    assert_eq!(unfinished.failed, 1, "{unfinished:?}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    assert_complete(&running.put(&tree, "/copy"));
    assert_complete(&running.get("/copy", &out));
    assert_eq!(describe(&tree), describe(&out));
}

#[test]
fn a_server_that_is_gone_ends_a_copy_with_its_reason() {
    let mut running = start(4);
    let tree = running.directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..200 {
        fs::write(tree.join(format!("{number}")), b"data").unwrap();
    }
    fs::write(tree.join("large"), vec![3; 500_000]).unwrap();
    assert_complete(&running.put(&tree, "/copy"));
    running.servers.remove(2).stop().unwrap();
    let back = running.directory.path().join("back");
    let summary = running.get("/copy", &back);
    assert_eq!(summary.ended_by, Some(Reach::Unreachable), "{summary:?}");
    assert!(summary.failures[0].cause.contains("server"), "{summary:?}");
    // No file is there in part.
    for file in fs::read_dir(&back).unwrap().flatten() {
        if !file.file_name().to_string_lossy().starts_with('.') {
            let original = fs::metadata(tree.join(file.file_name())).unwrap();
            assert_eq!(file.metadata().unwrap().size(), original.size());
        }
    }
}

#[test]
fn a_server_that_dies_in_the_middle_ends_a_copy_and_leaves_no_half_file() {
    let mut running = start(4);
    let tree = running.directory.path().join("tree");
    for number in 0..20 {
        let directory = tree.join(format!("{number}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..20 {
            fs::write(directory.join(format!("{file}")), vec![file; 40_000]).unwrap();
        }
    }
    assert_complete(&running.put(&tree, "/copy"));
    let dying = Mutex::new(Some(running.servers.remove(1)));
    let tasks = AtomicUsize::new(0);
    let die = |_: &Task| {
        if tasks.fetch_add(1, Ordering::Relaxed) == 10 {
            dying.lock().unwrap().take().unwrap().stop().unwrap();
        }
    };
    let back = running.directory.path().join("back");
    let item = item(&running.tree(), &"/copy".parse().unwrap(), (&*back).into());
    let clients = disturbed(running.clients(Direction::Out), die);
    let summary = Stage::new(clients, RULES, &Unwatched).run(vec![item], None);
    assert_eq!(summary.ended_by, Some(Reach::Unreachable), "{summary:?}");
    let whole = describe(&tree);
    for (path, copied) in describe(&back) {
        if !copied.data.is_empty() {
            assert_eq!(Some(&copied), whole.get(&path), "{}", path.escape_ascii());
        }
    }
}
