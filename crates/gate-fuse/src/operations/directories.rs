//! Listings.
//!
//! The kernel asks for attributes with the names (READDIRPLUS) at the beginning of a directory and
//! as long as it looks up what was listed. It gets none: the mount's client takes them in, under
//! leases, and answers look-ups by itself. A listing with nodes would be taken in name by
//! name, and wait at each that another thread looks up; the answer of that look-up may have to wait
//! until the kernel knows a node that the same listing names further down. And the kernel would
//! keep what it takes in then, although it had to forget it meanwhile.

use crate::answer::{Answer, Outcome};
use crate::cached_listings::{Start, Telling};
use crate::call::Call;
use crate::translate::bare_entry;
use futago_base::{Duration, Errno, FileId, Kind};
use futago_client::Context;
use futago_files::{
    listing::{AFTER_PARENT, AFTER_SELF, Page},
    stat::type_bits,
};
use futago_fuse_kernel::DirectoryList;
use futago_wire::ListedEntry;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// How often a caller looks whether names are expired before attributes are sent to it.
const EXPIRY_POLL: Duration = Duration::from_micros(200);

/// The form of a listing that the kernel requests.
struct Form {
    /// The least that a name takes, in bytes.
    record_bytes: u32,
    /// The kernel looks up the listed names afterwards.
    with_attributes: bool,
    /// Adds a name; returns whether it fits.
    push: fn(&mut DirectoryList, FileId, Kind, u64, &[u8]) -> bool,
}

const PLAIN: Form = Form {
    record_bytes: 32,
    with_attributes: false,
    push: |list, id, kind, cookie, name| list.push(id.0, cookie, type_bits(kind), name),
};

const PLUS: Form = Form {
    record_bytes: 160,
    with_attributes: true,
    push: |list, id, kind, cookie, name| list.push_plus(&bare_entry(id, kind), cookie, name),
};

pub async fn read(call: &Call, offset: u64, size: u32) -> Outcome {
    read_as(call, offset, size, &PLAIN).await
}

pub async fn read_plus(call: &Call, offset: u64, size: u32) -> Outcome {
    read_as(call, offset, size, &PLUS).await
}

/// Lists for a kernel that keeps listings, if it does.
async fn read_as(call: &Call, offset: u64, size: u32, form: &Form) -> Outcome {
    let listings = &call.shared.listings;
    if !listings.are_cached() {
        return list(call, offset, size, form).await.map(Answer::Listing);
    }
    let start = listings.begin(call.file, call.listing_period(call.file));
    let mut list = list(call, offset, size, form).await?;
    if !may_tell(call, start, list.is_empty()).await {
        list.push_fragment();
    }
    Ok(Answer::Listing(list))
}

/// Whether a part of a listing may be sent to the kernel as it is. Then it is to be sent in the
/// same poll.
async fn may_tell(call: &Call, start: Start, is_end: bool) -> bool {
    let (listings, directory) = (&call.shared.listings, call.file);
    let period = || {
        let is_known = call.client.has_all_names(directory);
        call.listing_period(directory).filter(|_| is_known)
    };
    match listings.tell(directory, start, period(), is_end) {
        Telling::Plainly => true,
        Telling::WithoutEnd => false,
        Telling::AfterDrop => {
            let parts = drop_listing(call, directory).await;
            parts.is_some_and(|parts| listings.tell_end(directory, start, period(), parts))
        }
    }
}

/// Before a caller gets attributes under which its kernel may use names or a listing, these must
/// not be old ones.
pub async fn settle(call: &Call) {
    settle_names(call).await;
    if !call.allow_listing(call.file) {
        drop_listing(call, call.file).await;
    }
}

/// A path may be about to lead through the directory.
async fn settle_names(call: &Call) {
    let names = &call.shared.names;
    let caller = names.await_expiry(call.header.node);
    while !names.may_go_on(&caller) {
        call.client.context().sleep(EXPIRY_POLL).await;
    }
}

/// This kernel is about to have names of directories changed, and lets nobody list them meanwhile.
pub async fn prepare_changes(call: &Call, directories: &[FileId]) {
    for &directory in directories {
        if call.shared.listings.has(directory) {
            drop_listing(call, directory).await;
        }
    }
}

/// Returns how many parts had been sent.
async fn drop_listing(call: &Call, directory: FileId) -> Option<u64> {
    let shared = Arc::clone(&call.shared);
    // It fails when the mount is gone, and its pages with it.
    let dropped = spawn_blocking(move || shared.drop_listing(directory).ok());
    dropped.await.ok().flatten()
}

async fn list(call: &Call, offset: u64, size: u32, form: &Form) -> Result<DirectoryList, Errno> {
    let mut list = DirectoryList::new(size);
    let push = form.push;
    if offset < AFTER_SELF && !push(&mut list, call.file, Kind::Directory, AFTER_SELF, b".") {
        return Ok(list);
    }
    if offset < AFTER_PARENT {
        let parent = parent(call).await?;
        if !push(&mut list, parent, Kind::Directory, AFTER_PARENT, b"..") {
            return Ok(list);
        }
    }
    let names_max = (size / form.record_bytes).max(1);
    add_names(call, offset, names_max, &mut list, form).await?;
    Ok(list)
}

/// A directory that is gone has no names, as on local file systems; the C library makes an empty
/// listing of that.
async fn parent(call: &Call) -> Result<FileId, Errno> {
    match call.client.parent(call.file).await {
        Err(Errno::ESTALE) => Err(Errno::ENOENT),
        parent => parent,
    }
}

/// Puts names into a listing until it is full.
async fn add_names(
    call: &Call,
    offset: u64,
    names_max: u32,
    list: &mut DirectoryList,
    form: &Form,
) -> Result<(), Errno> {
    let cookies = &call.shared.cookies;
    let position = cookies.position(call.file, offset)?;
    let attributes = form.with_attributes && call.shared.known_nodes.caches_attributes();
    let entries = (call.client)
        .read_directory(call.file, position.after, names_max, attributes)
        .await?;
    let page = Page::new(position, entries, names_max);
    let push = |listed: &ListedEntry, cookie| {
        let (entry, name) = (listed.entry, listed.name.as_bytes());
        (form.push)(list, entry.id, entry.kind, cookie, name)
    };
    cookies.give(call.file, |cookies| page.pass_on(cookies, push))?;
    // An empty answer would be the end of the directory.
    if list.is_empty() && !page.is_empty() {
        return Err(Errno::EINVAL);
    }
    Ok(())
}
