//! Opening, creating and closing files.

use super::nodes::new_file;
use super::pages;
use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::translate::{self, access};
use futago_base::{Attributes, Errno, Kind, Name};
use futago_files::{Created, OpenFile, is_surely_allowed};
use futago_fuse_kernel::{Create, Release};
use std::sync::Arc;

pub async fn open(call: &Call, flags: u32, kill_privileges: bool) -> Outcome {
    let id = call.file;
    let (open, state) = call.client.files().open(&*call.client, id).await?;
    if has(flags, libc::O_TRUNC) {
        Box::pin(truncate(call, &open, kill_privileges)).await?;
    }
    call.shared.handles.add(&open);
    let flags = pages::opened(call, open.number(), flags, &state).await;
    Ok(Answer::Opened(id, open.number(), flags))
}

/// The kernel found no such name, so it has not checked the caller's rights to an existing file.
/// If another client has made the file meanwhile and these rights are not plain to see, `ESTALE`
/// has the kernel look and check again.
pub async fn create(call: &Call, create: Create) -> Outcome {
    let name = Name::new(create.name)?;
    let node = new_file(call, create.mode);
    let (client, files) = (&*call.client, call.client.files());
    let exclusive = has(create.flags, libc::O_EXCL);
    let created = files.create(client, call.file, &name, node, exclusive);
    let (open, attributes) = match created.await? {
        Created::New(open, attributes) => (open, attributes),
        Created::Existing(open, found) => {
            // Apart, as it is seldom and large; so is a truncation by `open`.
            let kill_privileges = create.kill_suidgid;
            let existing = existing(call, &open, found, create.flags, kill_privileges);
            let attributes = Box::pin(existing).await?;
            (open, attributes)
        }
        Created::Other(found) if found.kind == Kind::Directory => return Err(Errno::EISDIR),
        Created::Other(_) => return Err(Errno::ESTALE),
    };
    add_to_write(call, &open);
    let entry = call.entry(&name, &attributes);
    Ok(Answer::Created(entry, open.number()))
}

async fn existing(
    call: &Call,
    open: &Arc<OpenFile>,
    attributes: Attributes,
    flags: u32,
    kill_privileges: bool,
) -> Result<Attributes, Errno> {
    let truncates = has(flags, libc::O_TRUNC);
    let mut access = access(flags);
    if truncates {
        access = access.and_write();
    }
    if !is_surely_allowed(&attributes, call.credentials(), access) {
        let files = call.client.files();
        files.close(&*call.client, Arc::clone(open)).await?;
        return Err(Errno::ESTALE);
    }
    if truncates {
        return truncate(call, open, kill_privileges).await;
    }
    Ok(attributes)
}

async fn truncate(
    call: &Call,
    open: &Arc<OpenFile>,
    kill_privileges: bool,
) -> Result<Attributes, Errno> {
    let (client, files, id) = (&*call.client, call.client.files(), open.id());
    let drops_set_id = kill_privileges && client.may_be_set_id(id);
    let attributes = files
        .truncate_or_close(client, open, kill_privileges)
        .await?;
    if drops_set_id {
        // The answer to `open` reports no mode, and the kernel keeps the one that it has.
        call.shared.known_nodes.changed(id.0);
    }
    Ok(attributes)
}

/// The kernel's `O_TMPFILE`: an open file without a name, which `linkat` may give it.
pub async fn temporary_file(call: &Call, create: Create) -> Outcome {
    let node = new_file(call, create.mode);
    let (client, files) = (&*call.client, call.client.files());
    let (open, attributes) = files.create_unnamed(client, call.file, node).await?;
    // It has no name that could be cached.
    let entry = translate::entry(attributes.id.0, &attributes);
    call.shared.known_nodes.tell(entry.node, false);
    add_to_write(call, &open);
    Ok(Answer::Created(entry, open.number()))
}

/// Adds a file that is read and written past the kernel's pages.
fn add_to_write(call: &Call, open: &Arc<OpenFile>) {
    call.shared.handles.add(open);
    call.shared
        .pages
        .opened_to_write(open.id().0, open.number());
}

/// Every close of a descriptor ends the `fcntl` locks that its process has on the file, after what
/// was written is on its servers, and reports what of that is lost.
pub async fn flush(call: &Call, handle: u64, lock_owner: u64) -> Outcome {
    let open = call.shared.handles.get(handle)?;
    let files = call.client.files();
    files.flush(&*call.client, &open, lock_owner).await?;
    Ok(Answer::Done)
}

/// The last close of an open file ends the locks that belong to it: those of `flock` and of
/// `F_OFD_SETLK`.
pub async fn release(call: &Call, release: Release) -> Outcome {
    close(call, release.handle).await?;
    Ok(Answer::Done)
}

/// Closes an open file.
pub async fn close(call: &Call, handle: u64) -> Result<(), Errno> {
    let open = call.shared.handles.remove(handle)?;
    call.shared.pages.closed(open.id().0, handle);
    call.client.files().close(&*call.client, open).await
}

const fn has(flags: u32, flag: libc::c_int) -> bool {
    flags & flag as u32 != 0
}
