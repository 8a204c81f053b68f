//! Leads the clients of a copy.

mod board;
mod large;

use crate::{Answer, Failure, Item, Perform, Reach, Rules, Task, TreePath};
use board::Board;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// The numbers of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Copied files; each hard link counts.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Copied symbolic links.
    pub symlinks: u64,
    /// Copied pipes, sockets and devices.
    pub specials: u64,
    /// Copied bytes of data, without holes.
    pub bytes: u64,
    /// Nodes that the target had already.
    pub unchanged: u64,
}

/// The outcome of a copy.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The numbers.
    pub counts: Counts,
    /// The first failures.
    pub failures: Vec<Failure>,
    /// The number of all failures.
    pub failed: u64,
    /// The nodes that were found and not tried, because the copy ended early.
    pub left: u64,
    /// Why the copy ended early.
    pub ended_by: Option<Reach>,
}

impl Summary {
    /// Whether the target has everything.
    pub const fn is_complete(&self) -> bool {
        self.failed == 0 && self.ended_by.is_none()
    }
}

/// The watcher of a copy.
pub trait Progress: Sync {
    /// This many more bytes are to be copied.
    fn expect(&self, bytes: u64);
    /// This many bytes are copied, or need not be.
    fn advance(&self, bytes: u64);
    /// A node was not copied.
    fn fail(&self, failure: &Failure);
}

/// A copy with several clients.
pub struct Stage<'a> {
    performers: Vec<Box<dyn Perform + 'a>>,
    rules: Rules,
    progress: &'a dyn Progress,
}

impl<'a> Stage<'a> {
    /// A copy with these clients, at least one, by their rules.
    pub fn new(
        performers: Vec<Box<dyn Perform + 'a>>,
        rules: Rules,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            performers,
            rules,
            progress,
        }
    }

    /// Has one client perform a task.
    pub fn perform(&self, task: &Task) -> Answer {
        let performer = self.performers.first();
        performer.map_or_else(Answer::default, |performer| performer.perform(task))
    }

    /// Copies nodes with everything below them. At the end, everything below `synchronized`
    /// survives a crash of the hosts as far as the target promises.
    pub fn run(&self, items: Vec<Item>, synchronized: Option<&TreePath>) -> Summary {
        let shared = Shared {
            board: Mutex::new(Board::new(items, self.rules, self.progress)),
            changed: Condvar::new(),
        };
        thread::scope(|scope| {
            for performer in &self.performers {
                let shared = &shared;
                scope.spawn(move || shared.work(&**performer, synchronized));
            }
        });
        shared.lock().summary()
    }
}

/// The state that the threads of a copy share.
struct Shared<'a> {
    board: Mutex<Board<'a>>,
    changed: Condvar,
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, Board<'a>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs tasks until there are no more.
    fn work(&self, performer: &dyn Perform, synchronized: Option<&TreePath>) {
        while let Some(task) = self.next() {
            let answer = performer.perform(&task);
            self.lock().done(task, answer);
            self.changed.notify_all();
        }
        if let Some(below) = synchronized
            && !self.lock().is_stopped()
        {
            let Answer { failures, .. } = performer.perform(&Task::Synchronize(below.clone()));
            self.lock().fail(failures);
        }
    }

    /// The next task; waits while others may make some.
    fn next(&self) -> Option<Task> {
        let mut board = self.lock();
        loop {
            if let Some(task) = board.take() {
                return Some(task);
            }
            if board.is_over() {
                return None;
            }
            let waited = self.changed.wait(board);
            board = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
