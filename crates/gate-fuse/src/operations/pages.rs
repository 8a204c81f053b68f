//! Which open files are read through the kernel's pages, and that these are never older than the
//! file.

use crate::cached_pages::DROP_LATER;
use crate::call::{Call, Shared};
use futago_base::{Attributes, Duration, Errno, FileId, Payload};
use futago_client::Context;
use futago_fuse_kernel::{OpenFlags, Read};
use futago_wire::FileState;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Reads and writes go past the kernel's pages, which would be changed before the file is, and
/// could not be dropped while they are being written.
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

/// Before a reader gets attributes it must not find old pages any more. Returns the attributes
/// anew, as those that were asked for before may be old meanwhile.
///
/// The kernel passes over what it is answered if pages were dropped while it asked. Callers are
/// shown the answer all the same, but a read would go by an old size and find nothing behind it.
/// For a read, which shows times to nobody, the kernel gets another time of modification
/// instead, so that it drops the pages itself with the answer.
pub async fn settle(
    call: &Call,
    attributes: Attributes,
    for_read: bool,
) -> Result<Attributes, Errno> {
    let (pages, id) = (&call.shared.pages, call.file);
    if !pages.is_read(id.0) {
        return Ok(attributes);
    }
    cover_data(call, &attributes).await;
    let are_old = pages.trust(id.0, call.client.data_trust(id)).is_none();
    if are_old && !for_read {
        drop_pages(&call.shared, id).await;
    }
    let mut attributes = call.client.attributes(id).await?.attributes;
    if are_old && for_read {
        attributes.modified = pages.another_time(id.0, attributes.modified);
    }
    Ok(attributes)
}

/// Reads, perhaps into the kernel's pages.
pub async fn read(call: &Call, read: &Read) -> Result<Payload, Errno> {
    let (pages, id) = (&call.shared.pages, call.file);
    if read.lock_owner.is_none() {
        // The kernel names the owner of each read that goes past its pages.
        let into_pages = read.offset..read.offset.saturating_add(read.size.into());
        (call.shared.direct_changes).read_into_pages(id, &into_pages);
    }
    let open = call.shared.handles.get(read.handle)?;
    let start = pages.begin_read(id.0, read.handle);
    let data = open.read(&*call.client, read.offset, read.size).await?;
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
        // It would come between a read and the size that the read asks for.
        while shared.pages.is_read_on(id.0) {
            client.context().sleep(DROP_LATER).await;
        }
        shared.pages.begin_due(id.0);
        if !shared.pages.are_clean(id.0) {
            drop_pages(&shared, id).await;
        }
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
    spawn_blocking(move || shared.drop_pages(id.0).ok())
        .await
        .ok();
}
