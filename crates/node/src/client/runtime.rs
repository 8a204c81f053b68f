//! The client's thread.

use super::handle::{Job, Options};
use super::{Client, NodeContext, recalls};
use crate::Cluster;
use futago_base::{ClusterMap, Duration};
use futago_transport::{Budget, shared_memory::poll_streams};
use std::{future::Future, io, pin::pin, sync::Arc, time};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::{LocalSet, spawn_local},
    time::{interval, timeout},
};

/// What a client is made of.
#[derive(Debug)]
pub struct Setup {
    pub cluster: Cluster,
    pub map: ClusterMap,
    pub options: Options,
    /// Memory for answers on their way in.
    pub budget: Budget,
}

/// Memory for large answers on their way in, all servers together.
const INCOMING_BYTES: usize = 256 << 20;

/// How long a client that leaves waits for servers that are connected and do not answer.
const LEAVE_MAX: time::Duration = time::Duration::from_secs(2);

impl Setup {
    pub fn new(cluster: &Cluster, mut options: Options) -> io::Result<Self> {
        let map = cluster.map().map_err(io::Error::other)?;
        options.calls.give_up = Duration(cluster.limits.give_up().as_nanos() as u64);
        options.client.chunk_bytes = cluster.chunk_bytes;
        options.calls.leases = options.leases;
        options.client.lease_trust = options.leases.then(lease_trust);
        Ok(Self {
            cluster: cluster.clone(),
            map,
            options,
            budget: Budget::new(INCOMING_BYTES),
        })
    }
}

/// The runtime of a client's thread.
pub fn new() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Runs jobs until all handles are gone, then ends the session. What this thread does with the client it does in its
/// turns.
pub fn run(runtime: &Runtime, client: &Arc<Client>, jobs: mpsc::UnboundedReceiver<Job>) {
    let context = client.context();
    let _ending = Ending(context.clone());
    context.begin_thread();
    let local = LocalSet::new();
    runtime.block_on(local.run_until(serve(client, jobs)));
    // Operations are left in it, and what they drop is of the client.
    context.in_turn(|| drop(local));
}

/// Tells that the thread has ended, also when it has panicked.
struct Ending(NodeContext);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn serve(client: &Arc<Client>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let context = client.context();
    begin(context, context.clone().keep_time());
    begin(context, context.clone().keep_sending());
    begin(context, context.clone().keep_connecting());
    begin(context, recalls::answer(Arc::clone(client)));
    let of_watch = context.clone();
    spawn_local(poll_streams(move |look| of_watch.in_turn(look)));
    let mut keep_alive = interval(keep_alive_period());
    keep_alive.tick().await;
    loop {
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => job(Arc::clone(client)),
                None => break,
            },
            _ = keep_alive.tick() => {
                let client = Arc::clone(client);
                // Who does not answer is found by the operations that need it.
                begin(context, async move {
                    client.keep_alive().await.ok();
                });
            }
        }
    }
    if context.is_used() {
        // A server that does not hear of it finds out when the lease ends.
        let leaving = pin!(async {
            context.leave();
            client.end_session().await
        });
        let _ = timeout(LEAVE_MAX, context.in_turns(leaving)).await;
    }
}

/// Has this thread, which is the client's, do something in its turns.
fn begin(context: &NodeContext, work: impl Future<Output = ()> + 'static) {
    let context = context.clone();
    let mut work = Box::pin(work);
    spawn_local(async move { context.in_turns(work.as_mut()).await });
}

/// A server takes seven eighths of its lease or more to give up on a client that it has heard of.
/// The rest is for clocks that do not run at quite the same speed.
fn lease_trust() -> Duration {
    let lease = futago_server::Config::default().lease;
    Duration(lease.0 / 4 * 3)
}

/// Several times a lease, so that one lost message does not cost the session.
fn keep_alive_period() -> time::Duration {
    let lease = futago_server::Config::default().lease;
    time::Duration::from_nanos(lease.0 / 4)
}
