//! The blocking library for programs: paths and files, one call at a time.
//!
//! Any number of threads may use one [`FileSystem`]. [`Futago::run`] runs many operations at once
//! from one thread.

use crate::{Cluster, Futago, Options, RecordedClient};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind, NameHash, Payload, SessionId, Space};
use futago_client::{Context, CreateFlags, Owner};
use futago_wire::{AttributeChange, ListedEntry, NewContent, NewNode};
use std::{io, pin::pin};

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
    owner: Owner,
    chunk_bytes: u32,
}

/// An open file. It is closed when it is dropped; [`File::close`] also returns the error of
/// closing.
///
/// All operations fail with `ESTALE` after the client's session has expired, because servers had
/// not heard of it for a lease.
pub struct File {
    file_system: FileSystem,
    id: FileId,
    session: SessionId,
    open: bool,
}

/// Converts an error of the file system to one of the operating system.
fn os_error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.number())
}

impl FileSystem {
    /// A client of the cluster. Nothing is sent before the first operation.
    ///
    /// # Errors
    /// As [`Futago::connect`].
    pub fn connect(cluster: &Cluster, options: Options) -> io::Result<Self> {
        let owner = Owner {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        };
        let futago = Futago::connect(cluster, options)?;
        Ok(Self {
            futago,
            owner,
            chunk_bytes: cluster.chunk_bytes,
        })
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
    pub fn open(&self, path: &[u8], options: OpenOptions) -> io::Result<File> {
        let new = NewNode {
            content: NewContent::File {
                chunk_bytes: options.chunk_bytes.unwrap_or(self.chunk_bytes),
            },
            mode: options.mode,
            uid: self.owner.uid,
            gid: self.owner.gid,
        };
        let (id, session) = self.run(async |client| {
            let session = client.context().session();
            let id = open(client, path, options, new).await?;
            Ok((id, session))
        })?;
        Ok(File {
            file_system: self.clone(),
            id,
            session,
            open: true,
        })
    }

    /// Opens a regular file by its identity.
    ///
    /// # Errors
    /// Those of `open`; `ESTALE` if the file is gone.
    pub fn open_id(&self, id: FileId) -> io::Result<File> {
        let session = self.run(async |client| {
            let session = client.context().session();
            client.open(id).await?;
            Ok(session)
        })?;
        Ok(File {
            file_system: self.clone(),
            id,
            session,
            open: true,
        })
    }

    /// Creates a directory.
    pub fn create_directory(&self, path: &[u8], mode: u16) -> io::Result<()> {
        let Owner { uid, gid } = self.owner;
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
        let Owner { uid, gid } = self.owner;
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.check_slash(&place).await?;
            let node = NewNode {
                content: NewContent::Symlink(target),
                mode: 0o777,
                uid,
                gid,
            };
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
    path: &[u8],
    options: OpenOptions,
    new: NewNode,
) -> Result<FileId, Errno> {
    let file = if options.create || options.create_new {
        match create_or_open(client, path, options, new).await? {
            (created, true) => return Ok(created.id),
            (existing, false) if existing.kind == Kind::File => existing,
            _ => open_existing(client, path).await?,
        }
    } else {
        open_existing(client, path).await?
    };
    if options.truncate && file.size > 0 {
        truncate_or_close(client, file.id).await?;
    }
    Ok(file.id)
}

/// Returns the attributes of the file and whether it is new. A regular file is open.
async fn create_or_open(
    client: &RecordedClient,
    path: &[u8],
    options: OpenOptions,
    new: NewNode,
) -> Result<(Attributes, bool), Errno> {
    let place = client.locate(path).await?;
    client.check_slash(&place).await?;
    let flags = CreateFlags {
        exclusive: options.create_new,
        open: true,
    };
    let (state, created) = client
        .create(place.directory, &place.name, new, flags, Payload::empty())
        .await?;
    Ok((state.attributes, created))
}

async fn open_existing(client: &RecordedClient, path: &[u8]) -> Result<Attributes, Errno> {
    let found = |found: Attributes| async move {
        match found.kind {
            Kind::Directory => Err(Errno::EISDIR),
            _ => Ok(client.open(found.id).await?.attributes),
        }
    };
    at_path(client, path, true, found).await
}

async fn truncate_or_close(client: &RecordedClient, id: FileId) -> Result<(), Errno> {
    let change = AttributeChange {
        size: Some(0),
        ..AttributeChange::default()
    };
    let truncated = client.set_attributes(id, change).await;
    if truncated.is_err() {
        // If this fails, the end of the session closes the file.
        client.close(id).await.ok();
    }
    truncated.map(drop)
}

impl File {
    /// Runs an operation on the file, in the session that opened it.
    fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let session = self.session;
        self.file_system.run(async |client| {
            let operation = pin!(operation(client));
            client.in_session(session, operation).await
        })
    }

    /// The file's identity.
    pub const fn id(&self) -> FileId {
        self.id
    }

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(&self, offset: u64, length: u32) -> io::Result<Bytes> {
        let id = self.id;
        let read = self.run(async |client| client.read(id, offset, length).await)?;
        Ok(read.bytes())
    }

    /// Writes at `offset`.
    ///
    /// # Errors
    /// Those of `pwrite`. Some of the data may have been written.
    pub fn write_at(&self, offset: u64, data: Bytes) -> io::Result<()> {
        let id = self.id;
        let data = Payload::from(data);
        self.run(async |client| {
            client.write(id, offset, data, false).await?;
            Ok(())
        })
    }

    /// Writes at the current end of the file and returns the offset.
    pub fn append(&self, data: Bytes) -> io::Result<u64> {
        let id = self.id;
        self.run(async |client| client.append(id, Payload::from(data), false).await)
    }

    /// Stores all data that this client has written to the file at its servers, as `fsync` does.
    /// Without [`Options::leases`] the data is there already.
    ///
    /// # Errors
    /// The reason why earlier written data was lost, reported once.
    pub fn synchronize(&self) -> io::Result<()> {
        let id = self.id;
        self.run(async |client| client.synchronize(id).await)
    }

    /// The attributes as `fstat` returns them.
    pub fn metadata(&self) -> io::Result<Attributes> {
        let id = self.id;
        self.run(async |client| Ok(client.attributes(id).await?.attributes))
    }

    /// Sets the size.
    ///
    /// # Errors
    /// Those of `ftruncate`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        let id = self.id;
        let change = AttributeChange {
            size: Some(size),
            ..AttributeChange::default()
        };
        self.run(async |client| {
            client.set_attributes(id, change).await?;
            Ok(())
        })
    }

    /// Closes the file. Buffered writes are sent first.
    pub fn close(mut self) -> io::Result<()> {
        self.open = false;
        let id = self.id;
        self.run(async |client| client.close(id).await)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.open {
            let (id, session) = (self.id, self.session);
            // If this fails, the end of the session closes the file.
            self.file_system.futago.spawn(move |client| async move {
                let close = pin!(client.close(id));
                client.in_session(session, close).await.ok();
            });
        }
    }
}
