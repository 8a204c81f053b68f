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
    /// The server that was asked last.
    asked: AtomicU16,
}

/// What distinguishes a file from the one that replaces it: device, number, time and size.
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
    let Some(file) = setup.cluster.file() else {
        return false;
    };
    let version = version(file);
    let mut read = setup
        .locating
        .read
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if version.is_none() || *read == version {
        return false;
    }
    *read = version;
    drop(read);
    // The file may be that of the next cluster.
    let cluster = Cluster::load(file)
        .ok()
        .filter(|it| it.id == setup.cluster.id);
    cluster.is_some_and(|cluster| setup.locations.renew((&cluster).into()))
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
        let count = setup.locations.count();
        let next = |asked: u16| Some(asked.wrapping_add(1).checked_rem(count).unwrap_or(0));
        let asked = &setup.locating.asked;
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let before = asked.fetch_update(set, fetch, next).ok()?;
        let server = ServerId(next(before)?);
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
