//! Clients on another host.

use super::{Setup, frame};
use crate::{Answer, Failure, Perform, Result, Task, TreePath};
use std::{
    collections::HashMap,
    io::{self, Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// A numbered task.
pub(super) type Request = (u64, Task);
/// The answer to a numbered task.
pub(super) type Reply = (u64, Answer);

/// The clients of another host, behind the pipes of the process that runs them.
pub struct RemoteClients {
    host: String,
    input: Mutex<Box<dyn Write + Send>>,
    waiting: Arc<Mutex<Waiting>>,
    interrupted: Arc<AtomicBool>,
}

/// How long it may take until a waiting thread notices an interruption.
const INTERRUPTION_MAX: Duration = Duration::from_millis(100);

/// The tasks under way.
#[derive(Default)]
struct Waiting {
    last: u64,
    is_closed: bool,
    answers: HashMap<u64, Sender<Answer>>,
}

impl RemoteClients {
    /// Sets up clients, whose process reads from `input` and writes to `output`. Nobody waits for
    /// them after `interrupted` is set, because their host may not answer.
    ///
    /// # Errors
    /// The process does not read.
    pub fn start(
        host: String,
        mut input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
        setup: &Setup,
        interrupted: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        frame::write(&mut input, setup)?;
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let of_thread = Arc::clone(&waiting);
        thread::Builder::new()
            .name(format!("clients of {host}"))
            .spawn(move || receive(output, &of_thread))?;
        Ok(Self {
            host,
            input: Mutex::new(input),
            waiting,
            interrupted: Arc::clone(interrupted),
        })
    }

    /// Sends a task. The sender of its answer is dropped if the process ends.
    fn send(&self, task: &Task) -> Receiver<Answer> {
        let (answer, receiver) = channel();
        let number = {
            let mut waiting = lock(&self.waiting);
            if waiting.is_closed {
                return receiver;
            }
            waiting.last += 1;
            let number = waiting.last;
            waiting.answers.insert(number, answer);
            number
        };
        if frame::write(&mut *lock(&self.input), &(number, task)).is_err() {
            lock(&self.waiting).answers.remove(&number);
        }
        receiver
    }

    fn wait(&self, answer: &Receiver<Answer>, path: &TreePath) -> Result<Answer> {
        loop {
            match answer.recv_timeout(INTERRUPTION_MAX) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::host(path, &self.host)),
                Err(RecvTimeoutError::Timeout) if self.interrupted.load(Ordering::Relaxed) => {
                    return Err(Failure::interrupted(path));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Perform for RemoteClients {
    fn perform(&self, task: &Task) -> Answer {
        let answer = self.wait(&self.send(task), &path(task));
        answer.unwrap_or_else(|failure| Answer {
            failures: vec![failure],
            ..Answer::default()
        })
    }
}

impl<P: Perform> Perform for Arc<P> {
    fn perform(&self, task: &Task) -> Answer {
        P::perform(self, task)
    }
}

/// Passes answers on until the process ends.
fn receive(mut output: Box<dyn Read + Send>, waiting: &Mutex<Waiting>) {
    while let Ok(Some((number, answer))) = frame::read::<Reply>(&mut output) {
        if let Some(sender) = lock(waiting).answers.remove(&number) {
            // The thread waits for it.
            let _ = sender.send(answer);
        }
    }
    let mut waiting = lock(waiting);
    waiting.is_closed = true;
    waiting.answers.clear();
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path that a failed task is reported for.
fn path(task: &Task) -> TreePath {
    let first = |items: &[crate::Item]| items.first().map(|item| item.source.clone());
    let path = match task {
        Task::Directory(item) | Task::Begin(item) | Task::Record(item, _) | Task::Finish(item) => {
            Some(item.source.clone())
        }
        Task::Part(part) => Some(part.item.source.clone()),
        Task::Nodes(items) | Task::DirectoryAttributes(items) => first(items),
        Task::Names(names) => names.first().map(|name| name.source.clone()),
        Task::Synchronize(below) => Some(below.clone()),
    };
    path.unwrap_or_else(TreePath::root)
}
