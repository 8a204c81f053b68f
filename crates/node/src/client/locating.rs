//! Learns where servers are now, when one is not where it was.

use super::NodeContext;
use crate::{Cluster, locations::Locations};
use futago_base::{Payload, ServerId};
use futago_client::Context as _;
use futago_wire::Request;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU16, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

/// How long another server may take to reply.
const REPLY_MAX: Duration = Duration::from_secs(1);

/// How a client looks for servers that have moved.
#[derive(Debug, Default)]
pub struct Locating {
    /// The version of the cluster file that was read last.
    read: Mutex<Option<FileVersion>>,
    /// One server is asked at a time: asking it may fail in the same way.
    is_asking: AtomicBool,
    /// How many servers without a connection were asked.
    asked: AtomicU16,
}

/// The device, number, time and size of a file. One that replaces it differs in some of them.
type FileVersion = (u64, u64, i64, i64, u64);

/// Learns where servers are now, from the cluster file or from another server. `lost` was not
/// found.
pub async fn run(context: &NodeContext, lost: ServerId) {
    if read_file(context) {
        return;
    }
    let locating = &context.setup().locating;
    if !locating.is_asking.swap(true, Ordering::Relaxed) {
        let _asking = Asking(&locating.is_asking);
        if let Some(server) = next_server(context, lost) {
            ask(context, server).await;
        }
    }
}

/// Ends asking, also if the connection for which it is done is given up.
struct Asking<'a>(&'a AtomicBool);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Reads the cluster file if it has been replaced. Returns whether it has later locations.
fn read_file(context: &NodeContext) -> bool {
    let setup = context.setup();
    let file = setup.cluster.file();
    let Some(file) = file.filter(|file| setup.locating.is_new(file)) else {
        return false;
    };
    // The file may be that of the next cluster.
    let cluster = Cluster::load(file).ok();
    let cluster = cluster.filter(|it| it.id == setup.cluster.id);
    cluster.is_some_and(|cluster| setup.locations.renew((&cluster).into()))
}

impl Locating {
    /// Whether the file is another one than at the last call.
    fn is_new(&self, file: &Path) -> bool {
        let version = version(file);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = version.is_some() && *read != version;
        *read = version;
        is_new
    }
}

fn version(file: &Path) -> Option<FileVersion> {
    let found = fs::metadata(file).ok()?;
    let (seconds, nanoseconds) = (found.mtime(), found.mtime_nsec());
    Some((found.dev(), found.ino(), seconds, nanoseconds, found.size()))
}

/// A server that is connected, or else the next one.
fn next_server(context: &NodeContext, lost: ServerId) -> Option<ServerId> {
    context.reached_server().or_else(|| {
        let setup = context.setup();
        let next = setup.locating.asked.fetch_add(1, Ordering::Relaxed);
        let server = ServerId(next.checked_rem(setup.locations.count())?);
        (server != lost).then_some(server)
    })
}

async fn ask(context: &NodeContext, server: ServerId) {
    let known = context.setup().locations.epoch();
    let sequence = context.next_sequence();
    let request = Request::GetLocations { known };
    let asking = context.call(server, sequence, request, Payload::empty());
    let Ok(Ok((_, data))) = timeout(REPLY_MAX, asking).await else {
        return;
    };
    if let Ok(newer) = serde_json::from_slice::<Locations>(&data.bytes()) {
        context.setup().locations.renew(newer);
    }
}
