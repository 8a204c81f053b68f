//! The client's thread.

use super::handle::{Job, Options};
use super::locating::Locating;
use super::starter::stop_buffering;
use super::{NodeContext, RecordedClient, metrics, recalls};
use crate::{Cluster, Cooperative, contact, locations::SharedLocations, time_slices};
use futago_base::{ClusterMap, Duration};
use futago_store::Sync;
use futago_transport::{Budget, busy, poll_streams};
use std::{future::Future, io, pin::pin, sync::Arc, time};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Semaphore, mpsc},
    task::{LocalSet, spawn_local},
    time::{interval, timeout},
};

/// The configuration of a client.
#[derive(Debug)]
pub struct Setup {
    pub cluster: Cluster,
    /// Where its servers are now.
    pub locations: SharedLocations,
    pub locating: Locating,
    pub map: ClusterMap,
    pub options: Options,
    /// Whether the client shares its cache.
    pub cooperative: Option<Cooperative>,
    /// Memory for incoming replies.
    pub budget: Budget,
}

/// Memory for incoming large replies, for all servers together.
const INCOMING_BYTES: usize = 256 << 20;

/// How many ranges of blocks pass to other clients at a time.
const FORWARDED_AT_ONCE: usize = 8;

/// How long a leaving client waits for connected servers that do not reply.
const LEAVE_MAX: time::Duration = time::Duration::from_secs(2);

impl Setup {
    pub fn new(cluster: &Cluster, mut options: Options) -> io::Result<Self> {
        let map = cluster.map().map_err(io::Error::other)?;
        options.calls.give_up = Duration(cluster.limits.give_up().as_nanos() as u64);
        options.client.chunk_bytes = cluster.chunk_bytes;
        options.client.contact = contact::draw(cluster)?;
        let cooperative = options.cooperative.within(cluster.cooperative);
        if let Some(cooperative) = cooperative {
            share(&mut options.client, cooperative);
        }
        options.leases |= options.client.contact.is_some() || cooperative.is_some();
        options.calls.leases = options.leases;
        options.client.lease_trust = options.leases.then(lease_trust);
        match (&cluster.data, cluster.sync) {
            (Some(_), Sync::Process) => options.client.durable_fsync = true,
            // All that has returned must have been confirmed.
            (Some(_), Sync::Always) => options.client.dirty_bytes_max = 0,
            (None, _) => {}
        }
        Ok(Self {
            cluster: cluster.clone(),
            locations: SharedLocations::new(cluster),
            locating: Locating::default(),
            map,
            options,
            cooperative,
            budget: Budget::new(INCOMING_BYTES),
        })
    }
}

/// The runtime of a client's thread, which is idle while it is parked; polling reports the other
/// transitions.
pub fn new() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| busy::end(busy::now()))
        .on_thread_unpark(|| busy::begin(busy::now()))
        .build()
}

/// Runs jobs until all handles are dropped, then ends the session. This thread accesses the client
/// only with its lock.
pub fn run(runtime: &Runtime, client: &Arc<RecordedClient>, jobs: mpsc::UnboundedReceiver<Job>) {
    let context = client.context();
    let _ending = Ending(context.clone());
    context.begin_thread();
    time_slices::shorten();
    let local = LocalSet::new();
    runtime.block_on(local.run_until(serve(client, jobs)));
    // Operations are left in it, and their drop accesses the client.
    context.with_lock(|| drop(local));
}

/// Reports the end of the thread, even after a panic.
struct Ending(NodeContext);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn serve(client: &Arc<RecordedClient>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let context = client.context();
    begin(context, context.clone().keep_time());
    begin(context, context.clone().keep_sending());
    begin(context, context.clone().keep_connecting());
    begin(context, context.clone().keep_reaching_holders());
    begin(context, recalls::answer(Arc::clone(client)));
    begin(context, keep_releasing(Arc::clone(client)));
    begin(context, keep_reading_ahead(Arc::clone(client)));
    begin(context, keep_forwarding(Arc::clone(client)));
    if context.setup().options.publishes_metrics {
        spawn_local(metrics::keep_publishing(Arc::clone(client)));
    }
    let announcing = Arc::clone(client);
    begin(context, async move { announcing.announce_cache().await });
    let of_watch = context.clone();
    spawn_local(poll_streams(move |look| of_watch.with_lock(look)));
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
                // An operation that needs a silent server detects it.
                begin(context, async move {
                    if client.context().is_used() {
                        client.keep_alive().await.ok();
                    }
                });
            }
        }
    }
    if context.is_used() {
        // It takes as long as servers take: they are given up in time.
        let stopping = pin!(stop_buffering(client));
        context.poll_with_lock(stopping).await;
        // A server that misses this detects the end when the lease expires.
        let leaving = pin!(async {
            context.leave();
            client.end_session().await
        });
        let _ = timeout(LEAVE_MAX, context.poll_with_lock(leaving)).await;
    }
}

/// Repeats failed releases of locks, for as long as the client lives.
async fn keep_releasing(client: Arc<RecordedClient>) {
    client.files().keep_releasing(&*client).await;
}

/// Reads what programs will probably ask for, for as long as the client lives.
async fn keep_reading_ahead(client: Arc<RecordedClient>) {
    loop {
        let wanted = client.core().wanted_ahead().await;
        let reading = Arc::clone(&client);
        begin(client.context(), async move {
            reading.core().read_ahead(wanted).await;
        });
    }
}

/// Passes blocks that would be evicted to other clients, a few ranges at a time.
async fn keep_forwarding(client: Arc<RecordedClient>) {
    let places = Arc::new(Semaphore::new(FORWARDED_AT_ONCE));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let leaving = client.core().wanted_forwarding().await;
        let forwarding = Arc::clone(&client);
        begin(client.context(), async move {
            forwarding.core().forward(leaving).await;
            drop(place);
        });
    }
}

/// Runs work on the client's thread with the lock.
fn begin(context: &NodeContext, work: impl Future<Output = ()> + 'static) {
    let context = context.clone();
    let mut work = Box::pin(work);
    spawn_local(async move { context.poll_with_lock(work.as_mut()).await });
}

/// A server takes at least seven eighths of its lease to give up a client that it has heard of. The
/// rest is a margin for clocks of different speeds.
fn lease_trust() -> Duration {
    let lease = futago_server::Config::default().lease;
    Duration(lease.0 / 4 * 3)
}

/// The period is a fraction of the lease, so that one lost message does not cost the session.
fn keep_alive_period() -> time::Duration {
    let lease = futago_server::Config::default().lease;
    time::Duration::from_nanos(lease.0 / 4)
}

/// Configures a client that shares its cache. A size that was chosen for the cache stays.
fn share(client: &mut futago_client::Config, cooperative: Cooperative) {
    if client.data_bytes_max == futago_client::Config::default().data_bytes_max {
        client.data_bytes_max = cooperative.cache_bytes;
    }
    client.shared_bytes_min = cooperative.file_bytes_min;
    client.chances = cooperative.chances;
}
