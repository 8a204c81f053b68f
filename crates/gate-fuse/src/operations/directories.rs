//! Listings.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::listing::{AFTER_PARENT, AFTER_SELF};
use crate::translate::{bare_entry, file_type};
use futago_base::{Errno, FileId, Kind};
use futago_fuse_kernel::{DirectoryList, Forget};
use futago_wire::ListedEntry;

/// The least that a name takes in a listing, and in one with attributes, in bytes.
const RECORD_BYTES: u32 = 32;
const RECORD_PLUS_BYTES: u32 = 160;

pub async fn read(call: &Call, handle: u64, offset: u64, size: u32) -> Outcome {
    let mut list = DirectoryList::new(size);
    let directory = file_type(Kind::Directory);
    if offset < AFTER_SELF && !list.push(call.file.0, AFTER_SELF, directory, b".") {
        return Ok(Answer::Listing(list, Vec::new()));
    }
    if offset < AFTER_PARENT {
        let parent = call.client.parent(call.file).await?;
        if !list.push(parent.0, AFTER_PARENT, directory, b"..") {
            return Ok(Answer::Listing(list, Vec::new()));
        }
    }
    let names_max = size / RECORD_BYTES;
    add_names(call, (handle, offset), (names_max, false), &mut list, push).await?;
    Ok(Answer::Listing(list, Vec::new()))
}

pub async fn read_plus(call: &Call, handle: u64, offset: u64, size: u32) -> Outcome {
    let mut list = DirectoryList::new(size);
    let nameless = |id: FileId| bare_entry(id, Kind::Directory);
    if offset < AFTER_SELF && !list.push_plus(&nameless(call.file), AFTER_SELF, b".") {
        return Ok(Answer::Listing(list, Vec::new()));
    }
    if offset < AFTER_PARENT {
        let parent = call.client.parent(call.file).await?;
        if !list.push_plus(&nameless(parent), AFTER_PARENT, b"..") {
            return Ok(Answer::Listing(list, Vec::new()));
        }
    }
    let names_max = size / RECORD_PLUS_BYTES;
    let mut nodes = Vec::new();
    let push = |list: &mut DirectoryList, listed: &ListedEntry, cookie| {
        push_plus(call, &mut nodes, list, listed, cookie)
    };
    add_names(call, (handle, offset), (names_max, true), &mut list, push).await?;
    Ok(Answer::Listing(list, nodes))
}

/// Puts names into a listing, with `push`, until that says that it is full.
async fn add_names(
    call: &Call,
    (handle, offset): (u64, u64),
    (names_max, attributes): (u32, bool),
    list: &mut DirectoryList,
    mut push: impl FnMut(&mut DirectoryList, &ListedEntry, u64) -> bool,
) -> Result<(), Errno> {
    let cuts = &call.shared.cuts;
    let place = cuts.place(handle, offset)?;
    let page = (call.client)
        .read_directory(call.file, place.after, names_max.max(1), attributes)
        .await?;
    let mut names = page
        .iter()
        .map(|listed| (listed.name.hash(), listed))
        .peekable();
    while let Some((hash, listed)) = names.next() {
        if place.is_past(hash, &listed.name) {
            continue;
        }
        let next = names.peek().map(|(hash, _)| *hash);
        let cookie = cuts.cookie(handle, hash, &listed.name, next)?;
        if !push(list, listed, cookie) {
            break;
        }
    }
    // An empty answer would be the end of the directory.
    if list.is_empty() && !page.is_empty() {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

fn push(list: &mut DirectoryList, listed: &ListedEntry, cookie: u64) -> bool {
    let of = listed.entry;
    list.push(of.id.0, cookie, file_type(of.kind), listed.name.as_bytes())
}

/// A name whose entry does not fit is not told to the kernel.
fn push_plus(
    call: &Call,
    nodes: &mut Vec<u64>,
    list: &mut DirectoryList,
    listed: &ListedEntry,
    cookie: u64,
) -> bool {
    let name = &listed.name;
    let Some(attributes) = &listed.attributes else {
        let entry = bare_entry(listed.entry.id, listed.entry.kind);
        return list.push_plus(&entry, cookie, name.as_bytes());
    };
    let entry = call.entry(name, attributes);
    let fits = list.push_plus(&entry, cookie, name.as_bytes());
    if fits {
        nodes.push(entry.node);
    } else {
        let node = entry.node;
        call.shared.forget(&[Forget { node, lookups: 1 }]);
    }
    fits
}
