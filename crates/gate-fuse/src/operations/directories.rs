//! Listings.
//!
//! The kernel asks for attributes with the names (READDIRPLUS) at the beginning of a directory and as long as it looks up
//! what was listed. It gets none: the mount's client takes them in, under leases, and answers look-ups by itself. A
//! listing that told of nodes would be taken in name by name, and wait at each that somebody looks up; the answer of
//! that look-up may have to wait until the kernel knows a node that the same listing tells of further down. And the kernel
//! would keep what it takes in then, although it had been told to forget it meanwhile.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::listing::{AFTER_PARENT, AFTER_SELF};
use crate::translate::{bare_entry, file_type};
use futago_base::{Errno, FileId, Kind};
use futago_fuse_kernel::DirectoryList;

/// What the kernel asks for.
struct Form {
    /// The least that a name takes, in bytes.
    record_bytes: u32,
    /// What was listed will be looked up.
    with_attributes: bool,
    /// Adds a name; returns whether it fits.
    push: fn(&mut DirectoryList, FileId, Kind, u64, &[u8]) -> bool,
}

const PLAIN: Form = Form {
    record_bytes: 32,
    with_attributes: false,
    push: |list, id, kind, cookie, name| list.push(id.0, cookie, file_type(kind), name),
};

const PLUS: Form = Form {
    record_bytes: 160,
    with_attributes: true,
    push: |list, id, kind, cookie, name| list.push_plus(&bare_entry(id, kind), cookie, name),
};

pub async fn read(call: &Call, handle: u64, offset: u64, size: u32) -> Outcome {
    list(call, handle, offset, size, &PLAIN).await
}

pub async fn read_plus(call: &Call, handle: u64, offset: u64, size: u32) -> Outcome {
    list(call, handle, offset, size, &PLUS).await
}

async fn list(call: &Call, handle: u64, offset: u64, size: u32, form: &Form) -> Outcome {
    let mut list = DirectoryList::new(size);
    let push = form.push;
    if offset < AFTER_SELF && !push(&mut list, call.file, Kind::Directory, AFTER_SELF, b".") {
        return Ok(Answer::Listing(list));
    }
    if offset < AFTER_PARENT {
        let parent = call.client.parent(call.file).await?;
        if !push(&mut list, parent, Kind::Directory, AFTER_PARENT, b"..") {
            return Ok(Answer::Listing(list));
        }
    }
    let names_max = (size / form.record_bytes).max(1);
    add_names(call, (handle, offset), names_max, &mut list, form).await?;
    Ok(Answer::Listing(list))
}

/// Puts names into a listing until it is full.
async fn add_names(
    call: &Call,
    (handle, offset): (u64, u64),
    names_max: u32,
    list: &mut DirectoryList,
    form: &Form,
) -> Result<(), Errno> {
    let cuts = &call.shared.cuts;
    let place = cuts.place(handle, offset)?;
    let attributes = form.with_attributes && call.shared.told.keeps_attributes();
    let page = (call.client)
        .read_directory(call.file, place.after, names_max, attributes)
        .await?;
    let mut names = page
        .iter()
        .map(|listed| (listed.name.hash(), listed))
        .peekable();
    while let Some((hash, listed)) = names.next() {
        let (name, entry) = (&listed.name, listed.entry);
        if place.is_past(hash, name) {
            continue;
        }
        let next = names.peek().map(|(hash, _)| *hash);
        let cookie = cuts.cookie(handle, hash, name, next)?;
        if !(form.push)(list, entry.id, entry.kind, cookie, name.as_bytes()) {
            break;
        }
    }
    // An empty answer would be the end of the directory.
    if list.is_empty() && !page.is_empty() {
        return Err(Errno::EINVAL);
    }
    Ok(())
}
