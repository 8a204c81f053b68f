//! The tasks of a copy: which are waiting, and which follow from an answer.

use super::{Counts, Progress, Summary, large::LargeFiles};
use crate::{
    Answer, Done, Failure, FurtherName, Identity, Item, Reach, Rules, Task, TreePath, Unreachable,
};
use futago_base::Kind;
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    ops::Range,
};

/// The most nodes of one task.
const NODES_MAX: usize = 64;
/// The most bytes of the nodes of one task, unless a single node has more.
const BYTES_MAX: u64 = 16 << 20;
/// The most failures that a summary names.
const FAILURES_MAX: usize = 1000;

/// The phases of a copy. Each begins when the tasks of the one before are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Nodes,
    Names,
    Directories,
    Over,
}

/// The tasks of a copy.
pub struct Board<'a> {
    phase: Phase,
    /// Directories come first, so that the amount of work is known early.
    directories: VecDeque<Task>,
    others: VecDeque<Task>,
    /// Tasks that clients are performing.
    active: usize,
    large: LargeFiles,
    /// The first name of each file with several names, at the target.
    first_names: HashMap<Identity, TreePath>,
    further_names: Vec<FurtherName>,
    listed: Vec<Item>,
    summary: Summary,
    rules: Rules,
    progress: &'a dyn Progress,
}

impl<'a> Board<'a> {
    pub fn new(items: Vec<Item>, rules: Rules, progress: &'a dyn Progress) -> Self {
        let mut board = Self {
            phase: Phase::Nodes,
            directories: VecDeque::new(),
            others: VecDeque::new(),
            active: 0,
            large: LargeFiles::new(rules.part_bytes.max(1)),
            first_names: HashMap::new(),
            further_names: Vec::new(),
            listed: Vec::new(),
            summary: Summary::default(),
            rules,
            progress,
        };
        board.sort(items);
        board
    }

    /// A task for a client.
    pub fn take(&mut self) -> Option<Task> {
        while self.is_idle() && self.phase != Phase::Over {
            self.next_phase();
        }
        let task = self
            .directories
            .pop_front()
            .or_else(|| self.others.pop_front())?;
        self.active += 1;
        Some(task)
    }

    fn is_idle(&self) -> bool {
        self.active == 0 && self.directories.is_empty() && self.others.is_empty()
    }

    /// Whether no task will come any more.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether the copy ended early.
    pub const fn is_stopped(&self) -> bool {
        self.summary.ended_by.is_some()
    }

    /// The outcome.
    pub fn summary(&mut self) -> Summary {
        std::mem::take(&mut self.summary)
    }

    fn next_phase(&mut self) {
        self.phase = match self.phase {
            Phase::Nodes if !self.is_stopped() => {
                let names = std::mem::take(&mut self.further_names);
                let batches = names
                    .chunks(NODES_MAX)
                    .map(|names| Task::Names(names.to_vec()));
                self.others.extend(batches);
                Phase::Names
            }
            Phase::Names if !self.is_stopped() => {
                let listed = std::mem::take(&mut self.listed);
                let batches = listed.chunks(NODES_MAX);
                let batches = batches.map(|items| Task::DirectoryAttributes(items.to_vec()));
                self.others.extend(batches);
                Phase::Directories
            }
            _ => Phase::Over,
        };
    }

    /// Notes the answer to a task, and adds the tasks that follow.
    pub fn done(&mut self, task: Task, answer: Answer) {
        self.active -= 1;
        self.count(&answer);
        let failed = answer.failures.len();
        self.fail(answer.failures);
        self.follow(task, failed == 0, answer.entries, answer.present);
        if self.is_stopped() {
            self.stop();
        }
    }

    /// Adds the tasks that follow from a performed one.
    fn follow(
        &mut self,
        task: Task,
        succeeded: bool,
        entries: Vec<Item>,
        present: Vec<Range<u64>>,
    ) {
        match task {
            Task::Directory(item) if succeeded || !entries.is_empty() => {
                self.summary.counts.directories += 1;
                self.sort(entries);
                self.listed.push(item);
            }
            Task::Nodes(items) => {
                let sizes = items.iter().map(|item| item.metadata.size);
                self.progress.advance(sizes.sum());
            }
            Task::Begin(item) if succeeded => {
                let tasks = self.large.begin(item, present, self.progress);
                self.others.extend(tasks);
            }
            Task::Part(part) if succeeded => {
                self.progress.advance(part.bytes.end - part.bytes.start);
                let next = self.large.copied(&part);
                self.put_first(next);
            }
            Task::Part(part) => self.give_up(&part.item),
            Task::Record(item, _) => {
                let next = self.large.recorded(&item);
                self.put_first(next);
            }
            _ => {}
        }
    }

    /// Drops the waiting parts of a file that cannot be completed.
    fn give_up(&mut self, item: &Item) {
        self.large.give_up(item);
        let is_of_item = |task: &Task| match task {
            Task::Part(part) => part.item.target == item.target,
            _ => false,
        };
        self.others.retain(|task| !is_of_item(task));
    }

    /// Adds a task that goes before others, because copied parts count only when recorded.
    fn put_first(&mut self, task: Option<Task>) {
        if let Some(task) = task {
            self.others.push_front(task);
        }
    }

    /// Gives up the waiting tasks.
    fn stop(&mut self) {
        for task in self.directories.drain(..).chain(self.others.drain(..)) {
            self.summary.left += match task {
                Task::Nodes(items) => items.len() as u64,
                Task::Directory(_) | Task::Begin(_) | Task::Finish(_) => 1,
                _ => 0,
            };
        }
    }

    fn count(&mut self, answer: &Answer) {
        let counts = &mut self.summary.counts;
        counts.bytes += answer.bytes;
        for done in &answer.done {
            count_done(counts, *done);
        }
    }

    fn ends_copy(&self, reach: Reach) -> bool {
        let is_skipped =
            reach == Reach::Unreachable && self.rules.unreachable == Unreachable::SkipsFile;
        reach.ends_copy() && !is_skipped
    }

    /// Notes failures.
    pub fn fail(&mut self, failures: Vec<Failure>) {
        for failure in failures {
            if self.ends_copy(failure.reach) {
                // Many clients fail for the one reason that ends the copy.
                if self.summary.ended_by.replace(failure.reach).is_some() {
                    self.summary.left += 1;
                    continue;
                }
            }
            self.progress.fail(&failure);
            self.summary.failed += 1;
            if self.summary.failures.len() < FAILURES_MAX {
                self.summary.failures.push(failure);
            }
        }
    }

    /// Makes tasks of nodes.
    fn sort(&mut self, items: Vec<Item>) {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for item in items {
            let size = item.metadata.size;
            match item.metadata.kind {
                Kind::Directory => self.directories.push_back(Task::Directory(item)),
                _ if self.is_further_name(&item) => {}
                Kind::File if self.large.is_large(&item) => {
                    self.progress.expect(size);
                    self.others.push_back(Task::Begin(item));
                }
                _ => {
                    self.progress.expect(size);
                    if batch.len() >= NODES_MAX || bytes + size > BYTES_MAX && !batch.is_empty() {
                        self.others
                            .push_back(Task::Nodes(std::mem::take(&mut batch)));
                        bytes = 0;
                    }
                    bytes += size;
                    batch.push(item);
                }
            }
        }
        if !batch.is_empty() {
            self.others.push_back(Task::Nodes(batch));
        }
    }

    /// Whether a node is a file that another name has met before. Its name is linked later.
    fn is_further_name(&mut self, item: &Item) -> bool {
        if item.metadata.links < 2 {
            return false;
        }
        match self.first_names.entry(item.metadata.identity) {
            Entry::Vacant(vacant) => {
                vacant.insert(item.target.clone());
                false
            }
            Entry::Occupied(first) => {
                self.further_names.push(FurtherName {
                    first: first.get().clone(),
                    source: item.source.clone(),
                    further: item.target.clone(),
                });
                true
            }
        }
    }
}

fn count_done(counts: &mut Counts, done: Done) {
    match done {
        Done::Copied(Kind::File) => counts.files += 1,
        Done::Copied(Kind::Directory) => counts.directories += 1,
        Done::Copied(Kind::Symlink) => counts.symlinks += 1,
        Done::Copied(_) => counts.specials += 1,
        Done::Present => counts.unchanged += 1,
    }
}
