//! How a client is brought back to where it was.

use super::files::FoundFile;
use super::sharing::Parked;
use super::task::{Progress, Task};
use super::{ClientProcess, Names, State};
use futago_client::MemoryUndo;
use futago_driver::{Calls, CallsUndo};

/// The undo of an event at a client.
#[derive(Debug)]
pub struct ClientUndo {
    pub(super) state: State,
    pub(super) names: Option<(usize, Names)>,
    pub(super) files: Vec<FoundFile>,
    pub(super) calls: Option<CallsUndo>,
    /// The calls of a session that has ended, with what takes back what happened before that.
    pub(super) expired_calls: Option<Box<(Calls, CallsUndo)>>,
    pub(super) memory: Vec<MemoryUndo>,
    pub(super) task: TaskUndo,
    pub(super) keep_alive: TaskUndo,
    pub(super) parked: Vec<Parked>,
}

/// The undo of a step of a task.
#[derive(Debug)]
pub(super) enum TaskUndo {
    /// There was none.
    Absent,
    /// There still is, or was until just now.
    Present(Progress, Option<Task>),
}

impl TaskUndo {
    fn of(task: &Option<Task>) -> Self {
        match task {
            None => Self::Absent,
            Some(task) => Self::Present(task.progress(), None),
        }
    }

    /// A task has ended; the first one that does is the one that was there before.
    pub(super) fn ended(&mut self, task: Task) {
        if let Self::Present(_, before @ None) = self {
            *before = Some(task);
        }
    }

    fn restore(self, task: &mut Option<Task>) {
        match self {
            Self::Absent => *task = None,
            Self::Present(progress, ended) => {
                *task = ended.or_else(|| task.take());
                if let Some(task) = task {
                    task.take_back(progress);
                }
            }
        }
    }
}

impl ClientProcess {
    /// The undo of the next event; to be called before it.
    pub fn begin_undo(&mut self) -> ClientUndo {
        self.calls.record_changes();
        ClientUndo {
            state: self.state,
            names: None,
            files: Vec::new(),
            calls: None,
            expired_calls: None,
            memory: Vec::new(),
            task: TaskUndo::of(&self.task),
            keep_alive: TaskUndo::of(&self.keep_alive),
            parked: self.parked.clone(),
        }
    }

    /// Brings the client back to where it was before its latest event.
    pub fn undo(&mut self, undo: ClientUndo) {
        self.state = undo.state;
        if let Some((place, names)) = undo.names {
            self.names[place] = names;
        }
        for found in undo.files.into_iter().rev() {
            self.files.forget(found);
        }
        // The unfinished changes of an event that broke off.
        let unfinished = self.calls.take_changes();
        self.calls.take_back(unfinished);
        let unfinished = self.memory.take_changes();
        self.memory.take_back(unfinished);
        match (undo.expired_calls, undo.calls) {
            (Some(expired), _) => {
                let (calls, changes) = *expired;
                self.calls = calls;
                self.calls.take_back(changes);
            }
            (None, Some(changes)) => self.calls.take_back(changes),
            (None, None) => {}
        }
        for changes in undo.memory.into_iter().rev() {
            self.memory.take_back(changes);
        }
        undo.task.restore(&mut self.task);
        undo.keep_alive.restore(&mut self.keep_alive);
        self.parked = undo.parked;
    }
}
