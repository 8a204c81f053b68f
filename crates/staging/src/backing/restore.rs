//! Brings the data of released files when clients of the cluster need it.
//!
//! A thread for each server asks the server which files are wanted, and starts a thread for each of
//! them. docs/design/backing.md explains the rules.

use super::{
    local_path,
    released::{Released, Source},
};
use crate::{
    ClusterTree, Copier, Failure, Links, LocalTree, NodeMetadata, Reach, Result, Rules, Tree,
    TreePath,
};
use futago_base::{Errno, FileId, ServerId};
use futago_wire::Restored;
use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// The most files of one server that are restored at a time.
const FILES_MAX: usize = 4;

/// How long a thread waits before it asks again: at first, and after it has asked in vain often.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// A program that reads many small files wants the next one soon, so that the pauses begin to grow
/// only after so many questions in vain.
const SHORT_PAUSES: u32 = 64;

/// The threads that restore files. They end when it is dropped.
pub struct Restorer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    copier: Copier<LocalTree, ClusterTree>,
    directory: TreePath,
    released: Arc<Released>,
    stopped: Arc<AtomicBool>,
    /// The latest failure.
    failure: Mutex<Option<Failure>>,
}

impl Restorer {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        tree: ClusterTree,
        rules: Rules,
        directory: TreePath,
        released: Arc<Released>,
    ) -> io::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let servers = tree.servers()?;
        let shared = Shared {
            copier: Copier::new(LocalTree, tree, rules, Arc::clone(&stopped)),
            directory,
            released,
            stopped,
            failure: Mutex::default(),
        };
        let mut restorer = Self {
            shared: Arc::new(shared),
            threads: Vec::new(),
        };
        for server in servers {
            // Servers must know of the restorer before a client needs data. One that does not
            // answer now is asked again by its thread.
            let target = restorer.shared.copier.target();
            let _ = target.next_restorations(server, &[], 0);
            let shared = Arc::clone(&restorer.shared);
            let thread = thread::Builder::new().spawn(move || shared.serve(server))?;
            restorer.threads.push(thread);
        }
        Ok(restorer)
    }

    /// The latest failure since the last call.
    pub fn take_failure(&self) -> Option<Failure> {
        lock(&self.shared.failure).take()
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic has been reported.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Restores the wanted files of a server until the end.
    fn serve(self: &Arc<Self>, server: ServerId) {
        let desk = Arc::new(Desk::default());
        let mut in_vain = 0;
        while !self.stopped.load(Ordering::Relaxed) {
            let (ended, room) = desk.take();
            match self.copier.target().next_restorations(server, &ended, room) {
                Ok(wanted) => {
                    let is_idle = wanted.is_empty() && ended.is_empty();
                    in_vain = if is_idle {
                        u32::saturating_add(in_vain, 1)
                    } else {
                        0
                    };
                    let restored = ended.iter().filter(|ended| ended.error.is_none());
                    restored.for_each(|ended| self.released.remove(ended.file.0));
                    wanted.into_iter().for_each(|file| self.begin(&desk, file));
                }
                // The server hands files out again when it has given up this session.
                Err(_) => desk.put_back(ended),
            }
            desk.wait(pause_after(in_vain));
        }
    }

    fn begin(self: &Arc<Self>, desk: &Arc<Desk>, file: FileId) {
        let task = Task::new(desk, file);
        let shared = Arc::clone(self);
        // A task that has no thread fails.
        let _ = thread::Builder::new().spawn(move || shared.perform(task));
    }

    fn perform(&self, mut task: Task) {
        task.error = self.restore(task.file).err().map(|failure| {
            let errno = match failure.reach {
                Reach::Refused => Errno::ENOSPC,
                Reach::Unreachable => Errno::EIO,
                _ => Errno::EREMOTEIO,
            };
            *lock(&self.failure) = Some(failure);
            errno
        });
    }

    fn restore(&self, file: FileId) -> Result<()> {
        let unknown = || {
            let cause = format!("nothing in the directory belongs to file {:x}", file.0);
            Failure::of_file(&self.directory, "loading", cause)
        };
        let mut source = self.released.source(file.0).ok_or_else(unknown)?;
        loop {
            let restored = self.restore_from(file, &source);
            match self.released.source(file.0) {
                // A pass has given the source up meanwhile, because there are others.
                Some(next) if restored.is_err() && next != source => source = next,
                _ => return restored,
            }
        }
    }

    fn restore_from(&self, file: FileId, source: &Source) -> Result<()> {
        let (path, metadata) = self.unchanged(source)?;
        let target = self.copier.target().node(&source.path, file);
        self.copier.restore(&path, &metadata, &target)
    }

    /// The file of a source, if nobody has changed it.
    fn unchanged(&self, source: &Source) -> Result<(TreePath, NodeMetadata)> {
        let path = local_path(&self.directory, &source.path);
        let present = LocalTree.metadata(&path, Links::Unfollowed)?;
        let present = present.filter(|present| source.same.is_local(present));
        let changed = || {
            let cause = "it was changed by others in the backing directory before it was needed";
            Failure::of_file(&path, "loading", cause)
        };
        let metadata = present.ok_or_else(changed)?;
        Ok((path, metadata))
    }
}

/// The pause after so many questions in vain.
fn pause_after(in_vain: u32) -> Duration {
    let doublings = in_vain.saturating_sub(SHORT_PAUSES).min(16);
    PAUSE_MAX.min(PAUSE_MIN * (1 << doublings))
}

/// The restorations of files of one server.
#[derive(Default)]
struct Desk {
    state: Mutex<DeskState>,
    has_ended: Condvar,
}

#[derive(Default)]
struct DeskState {
    active: usize,
    ended: Vec<Restored>,
}

impl Desk {
    /// Takes the restorations that have ended, and says how many may begin.
    fn take(&self) -> (Vec<Restored>, u32) {
        let mut state = lock(&self.state);
        let room = FILES_MAX.saturating_sub(state.active);
        (std::mem::take(&mut state.ended), room as u32)
    }

    /// Puts restorations back that could not be reported.
    fn put_back(&self, ended: Vec<Restored>) {
        lock(&self.state).ended.extend(ended);
    }

    /// Waits until a restoration ends, or for so long.
    fn wait(&self, pause: Duration) {
        let state = lock(&self.state);
        if state.ended.is_empty() {
            drop(self.has_ended.wait_timeout(state, pause));
        }
    }
}

/// The restoration of one file. It is reported when it is dropped.
struct Task {
    desk: Arc<Desk>,
    file: FileId,
    error: Option<Errno>,
}

impl Task {
    fn new(desk: &Arc<Desk>, file: FileId) -> Self {
        lock(&desk.state).active += 1;
        Self {
            desk: Arc::clone(desk),
            file,
            error: Some(Errno::EREMOTEIO),
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Self { file, error, .. } = *self;
        let mut state = lock(&self.desk.state);
        state.active -= 1;
        state.ended.push(Restored { file, error });
        self.desk.has_ended.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
