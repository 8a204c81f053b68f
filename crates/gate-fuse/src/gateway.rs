//! Requests in, answers out.

use crate::answer::{self, Outcome};
use crate::call::{Call, Shared};
use crate::lock_notes::Holder;
use crate::operations::locks;
use crate::{dispatch, local};
use futago_base::{Errno, FileId};
use futago_fuse_kernel::{Forget, Handler, Incoming, Operation, ParseError, Reply, Request, Taken};
use futago_node::Client;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::{spawn_local, yield_now};

/// How many requests are taken before what they have started gets its turn.
const TURN_REQUESTS: usize = 64;

/// A mount's end of the kernel's connection, on the client's thread.
pub struct Gateway {
    client: Rc<Client>,
    shared: Arc<Shared>,
}

impl Gateway {
    pub fn new(client: Rc<Client>, shared: Arc<Shared>) -> Self {
        Self { client, shared }
    }

    /// Takes requests until the end of the mount.
    pub async fn serve(self, incoming: Incoming) -> io::Result<()> {
        // The end of the mount shows as an error.
        let interest = Interest::READABLE | Interest::ERROR;
        // SAFETY: `incoming` keeps its one descriptor open for as long as it lives.
        let registered = unsafe { AsyncFd::register_with_interest(incoming, interest) };
        let mut incoming = registered.map_err(io::Error::from)?;
        loop {
            let mut ready = incoming.ready_mut(interest).await?;
            for _ in 0..TURN_REQUESTS {
                match ready.get_inner_mut().take_one(&self)? {
                    Taken::Request => {}
                    Taken::Nothing => {
                        ready.clear_ready();
                        break;
                    }
                    Taken::End => return Ok(()),
                }
            }
            drop(ready);
            yield_now().await;
        }
    }
}

impl Handler for Gateway {
    fn handle(&self, request: Request, reply: Reply) {
        let file = match self.shared.directories.file(request.header.node) {
            Ok(file) => file,
            Err(errno) => return answer::send(Err(errno), reply),
        };
        if let Some(outcome) = local::answer(&self.shared, file, &request.operation) {
            return answer::send(outcome, reply);
        }
        let interruption = self.shared.interruptions.begin(reply.unique());
        if reply.is_interrupted() {
            interruption.raise();
        }
        let call = Call {
            client: Rc::clone(&self.client),
            shared: Arc::clone(&self.shared),
            header: request.header,
            file,
            interruption,
        };
        spawn_local(serve(call, request.operation, reply));
    }

    fn interrupt(&self, unique: u64) {
        self.shared.interruptions.raise(unique);
    }

    fn forget(&self, nodes: &[Forget]) {
        self.shared.directories.forget(nodes);
    }

    fn malformed(&self, error: &ParseError) {
        tracing::warn!(%error, "the kernel sent a request that makes no sense");
    }
}

/// Runs an operation and answers. A caller that is being killed is let go, and so is one that got a
/// signal and waits for a lock; the operation goes on.
async fn serve(call: Call, operation: Operation, reply: Reply) {
    let unique = reply.unique();
    let name = operation.name();
    let lock = Lock::of(&operation, call.file);
    let mut work = pin!(dispatch::run(&call, operation));
    let waits_for_lock = lock.is_some_and(|lock| lock.waits);
    let let_go = async {
        if waits_for_lock {
            call.caller_waited_in_vain().await;
        } else {
            call.caller_is_killed().await;
        }
    };
    match work_or(work.as_mut(), pin!(let_go)).await {
        Some(outcome) => {
            tracing::trace!(name, header = ?call.header, ?outcome, "answered");
            answer::send(outcome, reply);
        }
        None => {
            let holder = lock.map(|lock| lock.holder);
            let notes = &call.shared.locks;
            holder.inspect(|&holder| notes.let_go(holder));
            reply.error(Errno::EINTR.number());
            undo(&call, work.await).await;
            holder.inspect(|&holder| notes.settle(holder));
        }
    }
    call.shared.interruptions.end(unique);
}

/// What a request for a lock concerns.
#[derive(Clone, Copy)]
struct Lock {
    holder: Holder,
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

/// What became of the work; `None` once the other is over before it.
async fn work_or(
    mut work: Pin<&mut impl Future<Output = Outcome>>,
    mut other: Pin<&mut impl Future<Output = ()>>,
) -> Option<Outcome> {
    poll_fn(|task| {
        if let Poll::Ready(outcome) = work.as_mut().poll(task) {
            return Poll::Ready(Some(outcome));
        }
        other.as_mut().poll(task).map(|()| None)
    })
    .await
}

/// Takes back what an operation did for a caller that is gone: closes what it opened, gives up what
/// it locked, and forgets what the kernel was not told of.
async fn undo(call: &Call, outcome: Outcome) {
    let Ok(answer) = outcome else { return };
    call.shared.directories.forget(&answer.nodes());
    let mut result = Ok(());
    if let Some(id) = answer.opened_file() {
        result = call.client.close(id).await;
    } else if let Some(unlock) = answer.unlock() {
        result = call.client.set_lock(call.file, unlock, None).await;
    }
    if let Err(error) = result {
        tracing::debug!(id = %call.file, %error, "cannot take back what a caller left behind");
    }
}
