//! Opens files by path.

use super::{OpenOptions, at_path};
use crate::RecordedClient;
use futago_base::{Attributes, Errno, FileId, Kind, limits};
use futago_files::{Created, Credentials, OpenFile, new_file};
use futago_wire::NewContent;
use std::sync::Arc;

/// The most symbolic links that one path is followed through, as on Linux.
const LINKS_MAX: usize = 40;

/// Opens a regular file. A failed call leaves nothing open.
pub(super) async fn open(
    client: &RecordedClient,
    caller: Credentials,
    path: &[u8],
    options: OpenOptions,
) -> Result<Arc<OpenFile>, Errno> {
    let open = if options.create || options.create_new {
        match create(client, caller, path, options).await? {
            Created::New(open, _) => return Ok(open),
            Created::Existing(open, _) => open,
            Created::Other(found) => return Err(not_a_file(found.kind)),
        }
    } else {
        open_existing(client, path).await?
    };
    if options.truncate {
        let (files, kill_privileges) = (client.files(), !caller.is_root());
        files
            .truncate_or_close(client, &open, kill_privileges)
            .await?;
    }
    Ok(open)
}

/// Creates a file, or opens an existing one, at the end of the symbolic links of a path.
async fn create(
    client: &RecordedClient,
    caller: Credentials,
    path: &[u8],
    options: OpenOptions,
) -> Result<Created, Errno> {
    let mut path = path.to_vec();
    for _ in 0..=LINKS_MAX {
        let place = client.locate(&path).await?;
        client.check_slash(&place).await?;
        let node = match options.chunk_bytes {
            Some(chunk_bytes) => caller.new_node(NewContent::File { chunk_bytes }, options.mode),
            None => new_file(client, caller, options.mode),
        };
        let (files, exclusive) = (client.files(), options.create_new);
        let created = files
            .create(client, place.directory, &place.name, node, exclusive)
            .await?;
        match created {
            Created::Other(link) if link.kind == Kind::Symlink => {
                path = link_target(client, &path, link.id).await?;
            }
            created => return Ok(created),
        }
    }
    Err(Errno::ELOOP)
}

/// The path to the target of a symbolic link that a path ends with.
async fn link_target(client: &RecordedClient, path: &[u8], link: FileId) -> Result<Vec<u8>, Errno> {
    let target = client.read_link(link).await?;
    let name = path.iter().rposition(|byte| *byte == b'/');
    let directory = match target.first() {
        Some(b'/') => &[][..],
        _ => &path[..name.map_or(0, |slash| slash + 1)],
    };
    let path = [directory, &target[..]].concat();
    if path.len() > limits::PATH_BYTES {
        return Err(Errno::ENAMETOOLONG);
    }
    Ok(path)
}

async fn open_existing(client: &RecordedClient, path: &[u8]) -> Result<Arc<OpenFile>, Errno> {
    let found = |found: Attributes| async move {
        match found.kind {
            Kind::File => Ok(client.files().open(client, found.id).await?.0),
            other => Err(not_a_file(other)),
        }
    };
    at_path(client, path, true, found).await
}

/// The error of opening what has no data.
const fn not_a_file(kind: Kind) -> Errno {
    match kind {
        Kind::Directory => Errno::EISDIR,
        _ => Errno::ENXIO,
    }
}
