//! Opens files by path.

use super::at_path;
use crate::RecordedClient;
use futago_base::{Attributes, Errno, FileId, Kind, limits};
use futago_files::{Access, Created, Credentials, FileHandle, OpenFile, OpenMode, new_file};
use futago_wire::NewContent;
use std::sync::Arc;

/// The most symbolic links that one path is followed through, as on Linux.
const LINKS_MAX: usize = 40;

/// The mode of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The access to the data; reading and writing by default.
    pub access: Access,
    /// Write at the end of the file, wherever a write is said to go, as with `O_APPEND`.
    pub append: bool,
    /// Have servers store the data of a write before it returns, as with `O_SYNC` and `O_DSYNC`.
    pub synchronous: bool,
    /// Fail with `ELOOP` at a symbolic link at the end of the path, as with `O_NOFOLLOW`.
    pub no_follow: bool,
    /// Create the file if it does not exist.
    pub create: bool,
    /// Create the file, and fail if it exists.
    pub create_new: bool,
    /// Truncate it to size 0.
    pub truncate: bool,
    /// Permission bits of a new file.
    pub mode: u16,
    /// The chunk size of a new file, in bytes; `None` for that of the cluster.
    pub chunk_bytes: Option<u32>,
}

impl OpenOptions {
    /// Opens an existing file for reading and writing, as [`OpenOptions::default`] does.
    pub const EXISTING: Self = Self {
        access: Access::ReadWrite,
        append: false,
        synchronous: false,
        no_follow: false,
        create: false,
        create_new: false,
        truncate: false,
        mode: 0,
        chunk_bytes: None,
    };

    const fn open_mode(self) -> OpenMode {
        OpenMode {
            access: self.access,
            appends: self.append,
            is_synchronous: self.synchronous,
        }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::EXISTING
    }
}

/// Opens a regular file. A failed call leaves nothing open.
pub(crate) async fn open(
    client: &RecordedClient,
    caller: Credentials,
    path: &[u8],
    options: OpenOptions,
) -> Result<FileHandle, Errno> {
    let handle = |open| FileHandle::new(open, options.open_mode(), caller);
    let open = if options.create || options.create_new {
        match create(client, caller, path, options).await? {
            Created::New(open, _) => return Ok(handle(open)),
            Created::Existing(open, _) => open,
            Created::Other(found) => return Err(not_a_file(found.kind)),
        }
    } else {
        open_existing(client, path, options).await?
    };
    if options.truncate {
        let (files, kill_privileges) = (client.files(), !caller.is_root());
        files
            .truncate_or_close(client, &open, kill_privileges)
            .await?;
    }
    Ok(handle(open))
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
            Created::Other(link) if link.kind == Kind::Symlink && !options.no_follow => {
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

async fn open_existing(
    client: &RecordedClient,
    path: &[u8],
    options: OpenOptions,
) -> Result<Arc<OpenFile>, Errno> {
    let found = async |found: Attributes| match found.kind {
        Kind::File => Ok(client.files().open(client, found.id).await?.0),
        other => Err(not_a_file(other)),
    };
    at_path(client, path, !options.no_follow, found).await
}

/// The error of opening what has no data.
const fn not_a_file(kind: Kind) -> Errno {
    match kind {
        Kind::Directory => Errno::EISDIR,
        // It is left only if it must not be followed.
        Kind::Symlink => Errno::ELOOP,
        _ => Errno::ENXIO,
    }
}
