//! Requests in, answers out.

use crate::answer::{self, Outcome};
use crate::call::{Call, Shared};
use crate::{Runtime, dispatch, local};
use futago_base::Errno;
use futago_client::Context;
use futago_fuse_kernel::{Forget, Handler, Operation, ParseError, Reply, Request};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// A mount's end of the kernel's connection.
pub struct Gateway<R> {
    runtime: R,
    shared: Arc<Shared>,
}

impl<R> Gateway<R> {
    pub fn new(runtime: R, shared: Arc<Shared>) -> Self {
        Self { runtime, shared }
    }
}

impl<R: Runtime> Handler for Gateway<R> {
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
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(move |client| {
            let call = Call {
                client,
                shared,
                header: request.header,
                file,
                interruption,
            };
            serve(call, request.operation, reply)
        });
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

/// Runs an operation and answers. A caller that is being killed is let go; its operation goes on.
async fn serve<C: Context>(call: Call<C>, operation: Operation, reply: Reply) {
    let unique = reply.unique();
    let name = operation.name();
    let waits_by_itself = matches!(operation, Operation::SetLock { .. });
    let mut work = pin!(dispatch::run(&call, operation));
    let finished = if waits_by_itself {
        Some(work.as_mut().await)
    } else {
        work_or_killed(work.as_mut(), pin!(call.caller_is_killed())).await
    };
    match finished {
        Some(outcome) => {
            tracing::trace!(name, header = ?call.header, ?outcome, "answered");
            answer::send(outcome, reply);
        }
        None => {
            reply.error(Errno::EINTR.number());
            undo(&call, work.await).await;
        }
    }
    call.shared.interruptions.end(unique);
}

/// What became of the work; `None` once the caller is being killed.
async fn work_or_killed(
    mut work: Pin<&mut impl Future<Output = Outcome>>,
    mut killed: Pin<&mut impl Future<Output = ()>>,
) -> Option<Outcome> {
    poll_fn(|task| {
        if let Poll::Ready(outcome) = work.as_mut().poll(task) {
            return Poll::Ready(Some(outcome));
        }
        killed.as_mut().poll(task).map(|()| None)
    })
    .await
}

/// Closes a file that was opened for a caller that is gone, and forgets what it was not told of.
async fn undo<C: Context>(call: &Call<C>, outcome: Outcome) {
    let Ok(answer) = outcome else { return };
    call.shared.directories.forget(&answer.nodes());
    if let Some(id) = answer.opened_file()
        && let Err(error) = call.client.close(id).await
    {
        tracing::debug!(%id, %error, "cannot close a file whose opener is gone");
    }
}
