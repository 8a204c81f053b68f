//! The blocking library for programs: paths and files, one call at a time.
//!
//! Any number of threads may use one [`FileSystem`]. [`Futago::run`] runs many operations at once
//! from one thread; [`asynchronous`](crate::asynchronous) has open files for that.

mod directory;
mod file;
mod lock;
mod names;
mod open;
mod position;
mod xattrs;

pub use directory::Directory;
pub use file::File;
pub use lock::LockConflict;
pub use open::OpenOptions;

use crate::{Cluster, Futago, Options, RecordedClient};
use futago_base::{Attributes, Errno, FileId, Kind, NameHash, Space};
use futago_files::{Credentials, FileHandle, OpenMode};
use futago_wire::{AttributeChange, ListedEntry};
use std::io;

/// A client of a cluster, by path. Clones are the same client.
#[derive(Clone)]
pub struct FileSystem {
    futago: Futago,
    caller: Credentials,
    umask: u16,
}

/// Converts an error of the file system to one of the operating system.
pub(crate) fn os_error(errno: Errno) -> io::Error {
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
        Ok(Self {
            futago,
            caller,
            umask: 0,
        })
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

    /// The same client with a file mode creation mask: new files and directories do not get these
    /// permission bits. A client begins with the mask 0, whatever that of the process is.
    #[must_use]
    pub fn with_umask(&self, umask: u16) -> Self {
        Self {
            umask: umask & 0o777,
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
        let open = async |client: &RecordedClient| self.open_handle(client, path, options).await;
        let handle = self.run(open)?;
        Ok(File::new(self.clone(), handle))
    }

    pub(crate) async fn open_handle(
        &self,
        client: &RecordedClient,
        path: &[u8],
        options: OpenOptions,
    ) -> Result<FileHandle, Errno> {
        let mode = options.mode & !self.umask;
        let options = OpenOptions { mode, ..options };
        open::open(client, self.caller, path, options).await
    }

    /// Opens a regular file by its identity.
    ///
    /// # Errors
    /// Those of `open`; `ESTALE` if the file is gone.
    pub fn open_id(&self, id: FileId, mode: OpenMode) -> io::Result<File> {
        let (open, _) = self.run(async |client| client.files().open(client, id).await)?;
        let handle = FileHandle::new(open, mode, self.caller);
        Ok(File::new(self.clone(), handle))
    }

    /// Changes attributes, as `chmod`, `chown`, `utimensat` and `truncate` do; with `follow` those
    /// of a symbolic link's target.
    ///
    /// # Errors
    /// Those of these functions.
    pub fn set_attributes(
        &self,
        path: &[u8],
        follow: bool,
        change: AttributeChange,
    ) -> io::Result<()> {
        let change = self.caller.change(change);
        self.run(async |client| {
            let set = async |found: Attributes| client.set_attributes(found.id, change).await;
            at_path(client, path, follow, set).await.map(drop)
        })
    }

    /// Stores all data that this client has written at its servers, as `sync` does. A loss is
    /// reported by the files that have written the lost data.
    ///
    /// # Errors
    /// The client has stopped, or a server cannot make everything survive a loss of power.
    pub fn synchronize(&self) -> io::Result<()> {
        self.run(async |client| client.files().synchronize_all(client).await)
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
async fn at_path<T>(
    client: &RecordedClient,
    path: &[u8],
    follow: bool,
    work: impl AsyncFn(Attributes) -> Result<T, Errno>,
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
