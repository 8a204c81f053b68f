//! Which open files are read through the kernel's pages, and that these are never older than the file.

use crate::call::{Call, Shared};
use crate::kept_pages::DROP_LATER;
use futago_base::{Attributes, Duration, Errno, FileId, Payload};
use futago_client::Context;
use futago_fuse_kernel::{OpenFlags, Read};
use futago_wire::FileState;
use std::pin::pin;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Reads and writes go past the kernel's pages, which would be changed before the file is, and could not be dropped
/// while they are being written.
pub const UNCACHED: OpenFlags = OpenFlags::DIRECT_IO.union(OpenFlags::PARALLEL_DIRECT_WRITES);

/// How the kernel is to treat a file that was opened with `flags`.
pub async fn opened(call: &Call, handle: u64, flags: u32, state: &FileState) -> OpenFlags {
    let (pages, id) = (&call.shared.pages, call.file);
    if flags as i32 & libc::O_ACCMODE != libc::O_RDONLY {
        pages.opened_to_write(id.0, handle);
        return UNCACHED;
    }
    if !pages.may_open(id.0, state.attributes.size) {
        return UNCACHED;
    }
    cover_data(call, &state.attributes).await;
    let trust = call.client.data_trust(id);
    if trust == Duration(0) {
        return UNCACHED;
    }
    if pages.opened_to_read(id.0, handle, trust) {
        OpenFlags::KEEP_CACHE
    } else {
        OpenFlags::empty()
    }
}

/// Has a lease on a file cover its data. That it does not is seen later.
async fn cover_data(call: &Call, attributes: &Attributes) {
    let (client, id) = (&call.client, call.file);
    let is_leased = client.attributes_trust(attributes) > Duration(0);
    if is_leased && client.data_trust(id) == Duration(0) {
        client.lease_data(id).await.ok();
    }
}

/// Before a reader is told attributes it must not find old pages any more. Returns whether attributes that were asked for
/// before may be old meanwhile.
pub async fn settle(call: &Call, attributes: &Attributes) -> bool {
    let (pages, id) = (&call.shared.pages, call.file);
    if !pages.is_read(id.0) {
        return false;
    }
    cover_data(call, attributes).await;
    if pages.trust(id.0, call.client.data_trust(id)).is_none() {
        drop_pages(&call.shared, id).await;
    }
    true
}

/// Reads, perhaps into the kernel's pages.
pub async fn read(call: &Call, read: &Read) -> Result<Payload, Errno> {
    let (pages, id) = (&call.shared.pages, call.file);
    let start = pages.begin_read(id.0, read.handle);
    let data = pin!(call.client.read(id, read.offset, read.size));
    let data = call.on_open_file(read.handle, data).await?;
    let trust = || call.client.data_trust(id);
    if start.is_some_and(|start| pages.end_read(id.0, start, trust())) {
        drop_later(call, id);
    }
    Ok(data)
}

fn drop_later(call: &Call, id: FileId) {
    let (shared, client) = (Arc::clone(&call.shared), Arc::clone(&call.client));
    call.shared.starter.spawn(async move {
        client.context().sleep(DROP_LATER).await;
        drop_pages(&shared, id).await;
    });
}

/// A file was cut or extended through this mount. The kernel drops pages itself when it has the
/// answer, and writes none back before: so the answer must not wait for any to be dropped, which
/// waits for those that were written to through a mapping.
pub fn cut(call: &Call, id: FileId) {
    if call.shared.pages.age(id.0) {
        drop_later(call, id);
    }
}

/// A file's data was changed through this mount, past the kernel's pages.
pub async fn changed(call: &Call, id: FileId) {
    if call.shared.pages.age(id.0) {
        drop_pages(&call.shared, id).await;
    }
}

async fn drop_pages(shared: &Arc<Shared>, id: FileId) {
    let shared = Arc::clone(shared);
    // It fails when the mount is gone, and its pages with it.
    spawn_blocking(move || shared.pages.drop_pages(id.0).ok())
        .await
        .ok();
}
