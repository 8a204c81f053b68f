//! The blocking library for programs: paths and files, one call at a time.
//!
//! Any number of threads may use one [`FileSystem`]. [`Futago::run`] runs many operations at once
//! from one thread.

use crate::{Cluster, Futago, Options, RecordedClient};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind, NameHash, Payload, Space, limits};
use futago_client::CreateFlags;
use futago_files::{Created, Credentials, FileWrite, OpenFile, WriteOffset, new_file};
use futago_wire::{AttributeChange, ListedEntry, NewContent};
use std::{io, ops::Range, pin::pin, sync::Arc};

/// The most symbolic links that one path is followed through, as on Linux.
const LINKS_MAX: usize = 40;

/// The mode of opening a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
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

/// A client of a cluster, by path. Clones are the same client.
#[derive(Clone)]
pub struct FileSystem {
    futago: Futago,
    caller: Credentials,
}

/// An open file. It is closed when it is dropped; [`File::close`] also returns the error of
/// closing.
///
/// All operations fail with `ESTALE` after the client's session has expired, because servers had
/// not heard of it for a lease.
pub struct File {
    file_system: FileSystem,
    open: Arc<OpenFile>,
    is_closed: bool,
}

/// Converts an error of the file system to one of the operating system.
fn os_error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.number())
}

impl FileSystem {
    /// A client of the cluster, for the effective user and group of the calling thread. Nothing is
    /// sent before the first operation.
    ///
    /// # Errors
    /// As [`Futago::connect`].
    pub fn connect(cluster: &Cluster, options: Options) -> io::Result<Self> {
        let caller = Credentials {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        };
        let futago = Futago::connect(cluster, options)?;
        Ok(Self { futago, caller })
    }

    /// The same client for another caller: it owns what is created, and changes of data by others
    /// than root clear set-user-id. The client checks no rights.
    #[must_use]
    pub fn on_behalf_of(&self, caller: Credentials) -> Self {
        Self {
            caller,
            ..self.clone()
        }
    }

    /// The client behind it, for operations that have no path.
    pub const fn futago(&self) -> &Futago {
        &self.futago
    }

    /// Runs an operation and waits for it.
    ///
    /// # Errors
    /// The operation's, as an error of the operating system.
    pub fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.futago.run_blocking(operation)?.map_err(os_error)
    }

    /// The attributes as `stat` returns them; with `follow` those of a symbolic link's target.
    pub fn metadata(&self, path: &[u8], follow: bool) -> io::Result<Attributes> {
        self.run(async |client| Ok(client.resolve(path, follow).await?.attributes))
    }

    /// Opens, or creates and opens, a regular file.
    ///
    /// # Errors
    /// Those of `open`; `ENXIO` for what is neither a file nor a directory.
    pub fn open(&self, path: &[u8], options: OpenOptions) -> io::Result<File> {
        let open = self.run(async |client| open(client, self.caller, path, options).await)?;
        Ok(File {
            file_system: self.clone(),
            open,
            is_closed: false,
        })
    }

    /// Opens a regular file by its identity.
    ///
    /// # Errors
    /// Those of `open`; `ESTALE` if the file is gone.
    pub fn open_id(&self, id: FileId) -> io::Result<File> {
        let (open, _) = self.run(async |client| client.files().open(client, id).await)?;
        Ok(File {
            file_system: self.clone(),
            open,
            is_closed: false,
        })
    }

    /// Creates a directory.
    pub fn create_directory(&self, path: &[u8], mode: u16) -> io::Result<()> {
        let Credentials { uid, gid } = self.caller;
        self.run(async |client| {
            let place = client.locate(path).await?;
            client
                .make_directory(place.directory, &place.name, mode, uid, gid)
                .await?;
            Ok(())
        })
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// Those of `unlink`.
    pub fn remove_file(&self, path: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.check_slash(&place).await?;
            client.unlink(place.directory, &place.name).await
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of `rmdir`.
    pub fn remove_directory(&self, path: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.remove_directory(place.directory, &place.name).await
        })
    }

    /// Renames.
    ///
    /// # Errors
    /// Those of `rename`.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let (mut from, to) = (client.locate(from).await?, client.locate(to).await?);
            from.must_be_directory |= to.must_be_directory;
            client.check_slash(&from).await?;
            let flags = futago_client::RenameFlags::default();
            client
                .rename(from.directory, &from.name, to.directory, &to.name, flags)
                .await
        })
    }

    /// Creates a symbolic link.
    pub fn symlink(&self, target: &[u8], path: &[u8]) -> io::Result<()> {
        let target = Bytes::copy_from_slice(target);
        let node = self.caller.new_node(NewContent::Symlink(target), 0o777);
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.check_slash(&place).await?;
            let (directory, name) = (place.directory, &place.name);
            client
                .create(
                    directory,
                    name,
                    node,
                    CreateFlags::EXCLUSIVE,
                    Payload::empty(),
                )
                .await?;
            Ok(())
        })
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// Those of `readlink`.
    pub fn read_link(&self, path: &[u8]) -> io::Result<Bytes> {
        self.run(async |client| {
            let found = |link: Attributes| async move {
                match link.kind {
                    Kind::Symlink => client.read_link(link.id).await,
                    _ => Err(Errno::EINVAL),
                }
            };
            at_path(client, path, false, found).await
        })
    }

    /// All entries of a directory, with their attributes, in the order of their hashes.
    ///
    /// # Errors
    /// Those of `readdir`.
    pub fn read_directory(&self, path: &[u8]) -> io::Result<Vec<ListedEntry>> {
        const PAGE_ENTRIES: u32 = 1024;
        self.run(async |client| {
            let directory = client.resolve(path, true).await?.attributes;
            if directory.kind != Kind::Directory {
                return Err(Errno::ENOTDIR);
            }
            let (mut all, mut after) = (Vec::new(), NameHash(0));
            loop {
                let page = client
                    .read_directory(directory.id, after, PAGE_ENTRIES, true)
                    .await?;
                let Some(last) = page.last() else {
                    return Ok(all);
                };
                after = last.name.hash();
                all.extend(page);
            }
        })
    }

    /// The occupancy of the cluster.
    pub fn space(&self) -> io::Result<Space> {
        self.run(async |client| client.space().await)
    }
}

/// Applies `work` to the target of a path. If another client has replaced the target meanwhile, the
/// path is resolved again. A path that leads to the same file again leads to a lost file.
async fn at_path<T, F: Future<Output = Result<T, Errno>>>(
    client: &RecordedClient,
    path: &[u8],
    follow: bool,
    work: impl Fn(Attributes) -> F,
) -> Result<T, Errno> {
    let mut gone = None;
    loop {
        let found = client.resolve(path, follow).await?.attributes;
        match work(found).await {
            Err(Errno::ESTALE) if gone != Some(found.id) => gone = Some(found.id),
            result => return result,
        }
    }
}

/// Opens a regular file. A failed call leaves nothing open.
async fn open(
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

impl File {
    /// Runs an operation of the client.
    fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.file_system.run(operation)
    }

    /// The file's identity.
    pub fn id(&self) -> FileId {
        self.open.id()
    }

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(&self, offset: u64, length: u32) -> io::Result<Bytes> {
        let read = self.run(async |client| self.open.read(client, offset, length).await)?;
        Ok(read.bytes())
    }

    /// Writes at `offset`.
    ///
    /// # Errors
    /// Those of `pwrite`. Some of the data may have been written.
    pub fn write_at(&self, offset: u64, data: Bytes) -> io::Result<()> {
        self.write(WriteOffset::At(offset), data).map(drop)
    }

    /// Writes at the current end of the file and returns the offset.
    pub fn append(&self, data: Bytes) -> io::Result<u64> {
        self.write(WriteOffset::End, data).map(|range| range.start)
    }

    /// Returns the written range.
    fn write(&self, offset: WriteOffset, data: Bytes) -> io::Result<Range<u64>> {
        let write = FileWrite {
            offset,
            data: Payload::from(data),
            kill_privileges: !self.file_system.caller.is_root(),
            is_synchronous: false,
        };
        self.run(async |client| self.open.write(client, write).await)
    }

    /// Stores all data that this client has written to the file at its servers, as `fsync` does.
    /// Without [`Options::leases`] the data is there already.
    ///
    /// # Errors
    /// The reason why earlier written data was lost. Every `File` that has written to the file
    /// reports it, once.
    pub fn synchronize(&self) -> io::Result<()> {
        self.run(async |client| self.open.synchronize(client).await)
    }

    /// The attributes as `fstat` returns them.
    pub fn metadata(&self) -> io::Result<Attributes> {
        self.run(async |client| {
            let state = pin!(client.attributes(self.open.id()));
            Ok(self.open.run(client, state).await?.attributes)
        })
    }

    /// Sets the size.
    ///
    /// # Errors
    /// Those of `ftruncate`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        let change = AttributeChange {
            size: Some(size),
            kill_privileges: !self.file_system.caller.is_root(),
            ..AttributeChange::default()
        };
        self.run(async |client| {
            let set = pin!(client.set_attributes(self.open.id(), change));
            self.open.run(client, set).await.map(drop)
        })
    }

    /// Closes the file. Buffered writes are sent first.
    ///
    /// # Errors
    /// As [`File::synchronize`], or those of `close`.
    pub fn close(mut self) -> io::Result<()> {
        self.is_closed = true;
        let open = Arc::clone(&self.open);
        self.run(async |client| {
            let synchronized = open.synchronize(client).await;
            let closed = client.files().close(client, open).await;
            synchronized.and(closed)
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if !self.is_closed {
            let open = Arc::clone(&self.open);
            // If this fails, the end of the session closes the file. Other files that have written
            // to it report a loss.
            self.file_system.futago.spawn(move |client| async move {
                client.files().close(&*client, open).await.ok();
            });
        }
    }
}
