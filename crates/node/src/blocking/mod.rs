//! The blocking library for programs: paths and files, one call at a time.
//!
//! Any number of threads may use one [`FileSystem`]. [`Futago::run`] runs many operations at once
//! from one thread.

mod file;
mod lock;
mod open;
mod position;

pub use file::File;

use crate::{Cluster, Futago, Options, RecordedClient};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind, NameHash, Payload, Space};
use futago_client::CreateFlags;
use futago_files::Credentials;
use futago_wire::{ListedEntry, NewContent};
use std::io;

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
        let open = self.run(async |client| {
            let opened = open::open(client, self.caller, path, options);
            opened.await
        })?;
        Ok(File::new(self.clone(), open))
    }

    /// Opens a regular file by its identity.
    ///
    /// # Errors
    /// Those of `open`; `ESTALE` if the file is gone.
    pub fn open_id(&self, id: FileId) -> io::Result<File> {
        let (open, _) = self.run(async |client| client.files().open(client, id).await)?;
        Ok(File::new(self.clone(), open))
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
