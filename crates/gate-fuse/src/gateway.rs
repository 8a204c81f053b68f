//! Requests in, answers out.

use crate::answer::{self, Outcome};
use crate::call::Call;
use crate::operations::{directories, locks, open};
use crate::polling::AdaptivePolling;
use crate::thread_pool::ThreadPool;
use crate::{dispatch, kernel_locks, local, retried_walks};
use futago_base::{Errno, FileId, Name};
use futago_client::{Context as _, first_of};
use futago_files::LockHolder;
use futago_fuse_kernel::{
    Forget, Handler, Incoming, Operation, ParseError, Rename, Reply, Request, Taken,
};
use std::io;
use std::iter;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

/// How many requests are taken before the operations that they have started go on.
const BATCH_REQUESTS_MAX: usize = 64;

/// A thread's end of the kernel's connection.
pub struct Gateway {
    pool: Arc<ThreadPool>,
}

impl Gateway {
    pub const fn new(pool: Arc<ThreadPool>) -> Self {
        Self { pool }
    }

    /// Looks for requests, beside other work of the thread, whenever no other threads take them,
    /// until the end of the mount.
    pub async fn look(self, mut incoming: Incoming) -> io::Result<()> {
        while let Some(left) = self.look_for_a_while(incoming).await? {
            incoming = left;
            self.pool.returned().await;
        }
        Ok(())
    }

    /// The same until other threads take them. Then it gives back what they come from.
    async fn look_for_a_while(&self, incoming: Incoming) -> io::Result<Option<Incoming>> {
        // The end of the mount shows as an error.
        let interest = Interest::READABLE | Interest::ERROR;
        // SAFETY: `incoming` keeps its one descriptor open for as long as it lives.
        let registered = unsafe { AsyncFd::register_with_interest(incoming, interest) };
        let mut incoming = registered.map_err(io::Error::from)?;
        let mut polling = AdaptivePolling::default();
        loop {
            let mut ready = incoming.ready_mut(interest).await?;
            let Some(found) = self.take_batch(ready.get_inner_mut())? else {
                return Ok(None);
            };
            if self.pool.hands_over() {
                return Ok(Some(incoming.into_inner()));
            }
            if !polling.keeps_polling(found > 0) {
                ready.clear_ready();
            }
            yield_now().await;
        }
    }

    /// Takes requests on a thread that does nothing else and sleeps until they come, until the end
    /// of the mount or until the client's thread had better take them. Then it gives back what they
    /// come from.
    pub fn sleep(self, mut incoming: Incoming) -> io::Result<Option<Incoming>> {
        while self.pool.workers_stay() {
            match incoming.take_one(&self)? {
                Taken::Request => {}
                // It shares its descriptor with the client's thread.
                Taken::Nothing => incoming.wait()?,
                Taken::End => return Ok(None),
            }
        }
        Ok(Some(incoming))
    }

    /// Takes the requests that are there, up to a limit. Returns how many, `None` at the end of the
    /// mount.
    fn take_batch(&self, incoming: &mut Incoming) -> io::Result<Option<usize>> {
        for found in 0..BATCH_REQUESTS_MAX {
            match incoming.take_one(self)? {
                Taken::Request => {}
                Taken::Nothing => return Ok(Some(found)),
                Taken::End => return Ok(None),
            }
        }
        Ok(Some(BATCH_REQUESTS_MAX))
    }
}

impl Handler for Gateway {
    fn handle(&self, request: Request, reply: Reply) {
        let shared = Arc::clone(&self.pool.shared);
        let Request { header, operation } = request;
        shared.names.answers.heard(header.pid);
        let file = match shared.directories.file(header.node) {
            Ok(file) => file,
            Err(errno) => return answer::send(Err(errno), reply),
        };
        if let Some(outcome) = local::answer(&shared, &operation) {
            self.pool.note(header.pid, false);
            return answer::send(outcome, reply);
        }
        let caller = header.pid;
        let interruption = shared.interruptions.begin(reply.unique());
        if reply.is_interrupted() {
            interruption.raise();
        }
        let call = Call {
            client: shared.starter.client().on_behalf_of(header.pid),
            shared,
            header,
            file,
            interruption,
        };
        let starter = &self.pool.shared.starter;
        let client = Arc::clone(starter.client());
        let sender = Arc::clone(&self.pool.shared);
        let waits = starter.begin(async move {
            let work = pin!(serve(call, operation, reply));
            // It is a system call, and other threads need not wait for it.
            if let Some((outcome, reply)) = client.context().poll_with_lock(work).await {
                answer::send(outcome, reply);
                sender.names.answers.sent(caller);
            }
        });
        self.pool.note(caller, waits);
    }

    fn interrupt(&self, unique: u64) {
        self.pool.shared.interruptions.raise(unique);
    }

    fn forget(&self, nodes: &[Forget]) {
        self.pool.shared.forget(nodes);
    }

    fn malformed(&self, error: &ParseError) {
        tracing::warn!(%error, "the kernel sent a request that makes no sense");
    }
}

/// Runs an operation and answers, or returns what is to be answered after its poll. A caller that
/// is being killed is let go, and so is one that got a signal and waits for a lock; the operation
/// goes on.
async fn serve(call: Call, operation: Operation, reply: Reply) -> Option<(Outcome, Reply)> {
    let unique = reply.unique();
    let name = operation.name();
    let lock = Lock::of(&operation, call.file);
    let changed = changed_directories(&call, &operation);
    let replies_in_poll = !changed.is_empty() || is_believed(&operation);
    let locked = kernel_locks::nodes(&call.shared.directories, call.header.node, &operation);
    let step = retried_walks::Step::of(&operation);
    let _held = call.shared.names.hold(locked);
    let mut work = pin!(async {
        directories::prepare_changes(&call, &changed).await;
        dispatch::run(&call, operation).await
    });
    let waits_for_lock = lock.is_some_and(|lock| lock.waits);
    let let_go = pin!(call.caller_is_let_go(waits_for_lock));
    let answer = match first_of(work.as_mut(), let_go).await {
        Some(outcome) => {
            if matches!(outcome, Err(Errno::EIO)) {
                forget(&call, &changed).await;
            }
            retried_walks::note(&call, step, outcome.as_ref());
            tracing::trace!(name, header = ?call.header, ?outcome, "answered");
            if replies_in_poll {
                answer::send(outcome, reply);
                call.shared.names.answers.sent(call.header.pid);
                None
            } else {
                Some((outcome, reply))
            }
        }
        None => {
            let holder = lock.map(|lock| lock.holder);
            let files = call.client.files();
            holder.inspect(|&holder| files.let_go(holder));
            forget(&call, &changed).await;
            reply.error(Errno::EINTR.number());
            // Apart, as it is seldom: every request would have to have room for it.
            Box::pin(undo(&call, work.await)).await;
            // The kernel may have asked again before the operation had begun to change anything.
            forget(&call, &changed).await;
            holder.inspect(|&holder| files.settle(holder));
            None
        }
    };
    call.shared.interruptions.end(unique);
    answer
}

/// Whether the kernel keeps the attributes of the reply, whatever it had to forget since it asked.
/// So it is when it has had them or names changed (`fuse_do_setattr`, `create_new_entry` in
/// fs/fuse/dir.c). Other answers it compares with that (`fuse_change_attributes_i`). Names of a
/// listing it takes in whenever it comes to it.
const fn is_believed(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::SetAttributes(_)
            | Operation::ReadDirectory { .. }
            | Operation::ReadDirectoryPlus { .. }
    )
}

/// The directories whose listings an operation changes.
fn changed_directories(call: &Call, operation: &Operation) -> Vec<FileId> {
    match operation {
        Operation::Create(_)
        | Operation::MakeNode(_)
        | Operation::MakeDirectory { .. }
        | Operation::Symlink { .. }
        | Operation::Link { .. }
        | Operation::Unlink { .. }
        | Operation::RemoveDirectory { .. } => vec![call.file],
        Operation::Rename(rename) => renamed_directories(call, rename),
        _ => Vec::new(),
    }
}

/// Both directories, and what is moved if that is one: it gets another parent.
fn renamed_directories(call: &Call, rename: &Rename) -> Vec<FileId> {
    let nodes = &call.shared.directories;
    let (from, to) = (call.header.node, rename.new_directory);
    let places = [(from, &rename.name), (to, &rename.new_name)];
    let moved = places.into_iter().filter_map(|(parent, name)| {
        let name = Name::new(name.clone()).ok()?;
        nodes.known_at(parent, &name)
    });
    let directories = iter::once(call.file).chain(nodes.file(to));
    directories.chain(moved).collect()
}

/// Has the kernel forget what it keeps of directories: it does not hear whether an operation has
/// changed them.
async fn forget(call: &Call, directories: &[FileId]) {
    for &directory in directories {
        call.client.context().forget(directory, None).await;
    }
}

/// The subject of a lock request.
#[derive(Clone, Copy)]
struct Lock {
    holder: LockHolder,
    waits: bool,
}

impl Lock {
    fn of(operation: &Operation, file: FileId) -> Option<Self> {
        let Operation::SetLock {
            request,
            wait,
            flock,
        } = operation
        else {
            return None;
        };
        Some(Self {
            holder: locks::holder(file, request, *flock),
            waits: *wait,
        })
    }
}

/// Takes back what an operation did for a caller that is gone: closes what it opened, gives up what
/// it locked, and forgets nodes of replies that the kernel did not receive.
async fn undo(call: &Call, outcome: Outcome) {
    let Ok(answer) = outcome else { return };
    call.shared.forget(answer.node().as_slice());
    let mut result = Ok(());
    if let Some((id, handle)) = answer.opened_file() {
        // The kernel has not heard that it was to drop pages.
        call.shared.pages.doubt(id.0);
        result = open::close(call, handle).await;
    } else if let Some((open, unlock)) = answer.unlock() {
        let (client, files) = (&*call.client, call.client.files());
        result = files.release_lock(client, &open, unlock).await;
    }
    if let Err(error) = result {
        tracing::debug!(id = %call.file, %error, "cannot take back what a caller left behind");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How large the future of a function is, in bytes.
    fn future_bytes<A, B, C, F: Future>(_: impl Fn(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_takes_little_memory_to_begin_with() {
        let bytes = future_bytes(serve);
        assert!(bytes <= 6 << 10, "{bytes}");
    }
}
