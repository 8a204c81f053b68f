//! Mounting and unmounting.

use crate::call::Shared;
use crate::kernel_caches::KernelCaches;
use crate::thread_pool::ThreadPool;
use futago_fuse_kernel::{
    Connection, MountEntry, MountFlags, MountOptions, SessionError, UnmountMode, Unmounter, Wanted,
    mounts,
};
use futago_node::{Futago, Starter};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use thiserror::Error;

/// The most workers that a mount has by default.
const WORKERS_DEFAULT_MAX: usize = 8;

/// How a mount is to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source in the mount table, such as the cluster file's path.
    pub source: String,
    /// Let other users than the mounting one in. An ordinary user needs `user_allow_other` in
    /// `/etc/fuse.conf`.
    pub allow_other: bool,
    /// The flags of the mount; only root may omit [`MountFlags::UNPRIVILEGED`].
    pub flags: MountFlags,
    /// Take the mount away when this process ends, however it ends.
    pub auto_unmount: bool,
    /// How many bytes the kernel reads ahead in files, and reads around the first touch of a mapped
    /// page. Only root can set it; `None` leaves the kernel's default, 128 KiB.
    pub read_ahead_bytes: Option<u64>,
    /// How many threads the mount has, 1 to [`Options::THREADS_MAX`]: one that serves a caller that
    /// is alone, and others for several callers.
    pub threads: usize,
    /// The kernel's caches under the leases of the mount's client; `None` without leases.
    pub caches: Option<KernelCaches>,
    /// Have all threads serve all the time: slower, and what a test of them wants.
    pub all_threads: bool,
}

impl Options {
    /// The most threads that a mount can have.
    pub const THREADS_MAX: usize = 64;
}

impl Default for Options {
    /// Open to others if root mounts.
    fn default() -> Self {
        // SAFETY: geteuid has no preconditions.
        let is_root = unsafe { libc::geteuid() } == 0;
        Self {
            source: String::from("futago"),
            allow_other: is_root,
            flags: MountFlags::UNPRIVILEGED,
            auto_unmount: false,
            read_ahead_bytes: None,
            threads: default_threads(),
            caches: None,
            all_threads: false,
        }
    }
}

/// The client's own thread, and one for each core, though at least two as several callers are.
fn default_threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    1 + cores.clamp(2, WORKERS_DEFAULT_MAX)
}

/// Why nothing was mounted.
#[derive(Debug, Error)]
pub enum MountFailure {
    /// There is a mount of Futago already, and it is alive.
    #[error(
        "{} is mounted already, from {mounted}; unmount it first, or choose another directory",
        path.display()
    )]
    Busy {
        /// Where.
        path: PathBuf,
        /// The present mount there.
        mounted: String,
    },
    /// The mount point is no directory.
    #[error("cannot mount on {}: it is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The connection to the kernel cannot be served.
    #[error("cannot serve the mount: {0}")]
    Device(io::Error),
    /// The kernel or its helper refused.
    #[error(transparent)]
    Kernel(#[from] SessionError),
}

/// A mounted file system. Dropping it unmounts lazily.
#[derive(Debug)]
pub struct Mounted {
    connection: Connection,
    ended: Receiver<io::Result<()>>,
    shared: Arc<Shared>,
    // Its session ends last, when the mount is gone.
    client: Futago,
}

/// Mounts a client's file system on `directory`. The mount of a dead process there is taken away
/// first.
///
/// # Errors
/// When a mount is there already, or mounting is refused.
pub fn mount(client: Futago, directory: &Path, options: &Options) -> Result<Mounted, MountFailure> {
    let wished = mount_options(options);
    check_free(directory, &wished)?;
    let connection = Connection::mount(&wished, &Wanted::default(), directory)?;
    for (name, _) in connection.granted().missing.iter_names() {
        tracing::info!(
            name,
            "the kernel lacks a feature of FUSE; going on without it"
        );
    }
    set_read_ahead(&connection, options);
    let threads = options.threads.clamp(1, Options::THREADS_MAX);
    let incoming = connection.incoming(threads);
    let shared = Arc::new(Shared::new(client.starter()));
    shared.pages.drop_by(connection.notifier());
    if let Some(caches) = &options.caches {
        caches.attach(&client, &connection, &shared);
    }
    let ended = ThreadPool::start(&client, &shared, incoming, options.all_threads)
        .map_err(MountFailure::Device)?;
    Ok(Mounted {
        connection,
        ended,
        shared,
        client,
    })
}

/// A mount without the wanted window still works, so that is no reason to refuse it.
fn set_read_ahead(connection: &Connection, options: &Options) {
    let set = |bytes| connection.set_read_ahead(bytes);
    if let Some(Err(error)) = options.read_ahead_bytes.map(set) {
        tracing::warn!(%error, "cannot set the kernel's read-ahead; its default stays");
    }
}

fn mount_options(options: &Options) -> MountOptions {
    MountOptions {
        source: options.source.clone(),
        allow_other: options.allow_other,
        flags: options.flags,
        auto_unmount: options.auto_unmount,
        ..MountOptions::default()
    }
}

/// A directory that cannot be looked at is left to the mounting, which says why; a dead mount
/// is one.
fn check_free(directory: &Path, options: &MountOptions) -> Result<(), MountFailure> {
    let Ok(path) = fs::canonicalize(directory) else {
        return Ok(());
    };
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_dir() => return Err(MountFailure::NotADirectory(path)),
        Ok(_) => {}
        Err(_) => return Ok(()),
    }
    let is_ours = |entry: &MountEntry| entry.path == path && *entry.kind == *options.kind();
    match mounts()
        .ok()
        .and_then(|table| table.into_iter().rfind(is_ours))
    {
        Some(entry) => Err(MountFailure::Busy {
            path,
            mounted: entry.source.to_string_lossy().into_owned(),
        }),
        None => Ok(()),
    }
}

impl Mounted {
    /// For unmounting from anywhere, such as a signal's thread; [`Mounted::wait`] returns then.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.connection.unmounter()
    }

    /// A starter of operations of the mount's client, which outlives the mount.
    #[must_use]
    pub fn starter(&self) -> Starter {
        self.client.starter()
    }

    /// Unmounts and waits for the end.
    ///
    /// # Errors
    /// `EBUSY` when files are in use and `mode` asks for respect; the mount is dropped lazily then.
    pub fn unmount(self, mode: UnmountMode) -> io::Result<()> {
        self.unmounter().unmount(mode)?;
        self.wait()
    }

    /// Waits until the file system is unmounted, by whomever, and the last open file is closed.
    ///
    /// # Errors
    /// What reading requests met other than the end of the mount.
    pub fn wait(self) -> io::Result<()> {
        let stopped = |_| Err(io::Error::other("the client has stopped"));
        let ended = self.ended.recv().unwrap_or_else(stopped);
        self.shared.interruptions.raise_all();
        ended
    }
}
