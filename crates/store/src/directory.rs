//! The directory of a store: the operations of a file system that a store needs.

use rustix::fs::{FallocateFlags, fallocate, statvfs, syncfs};
use std::{
    fmt::Debug,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, IoSlice, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::StoreError;

/// The room of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Its size, in bytes.
    pub total_bytes: u64,
    /// The free part of it, in bytes.
    pub free_bytes: u64,
}

/// The files of a store, by name.
///
/// A write survives the end of the process. It survives a loss of power once it is
/// synchronized: the contents of a file, and the names of files, on their own.
pub trait Directory: Debug + Send + Sync {
    /// The names of all files.
    ///
    /// # Errors
    /// Those of the system, here and below.
    fn list(&self) -> io::Result<Vec<String>>;

    /// The size of a file, in bytes.
    fn size(&self, name: &str) -> io::Result<u64>;

    /// Makes a file that begins with these bytes. If that fails, there is none.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Appends pieces, as many bytes as the system takes at a time. Returns how many.
    fn append(&self, name: &str, pieces: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reads the bytes of a file from an offset on. `UnexpectedEof` if there are fewer.
    fn read(&self, name: &str, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Cuts a file off.
    fn truncate(&self, name: &str, bytes: u64) -> io::Result<()>;

    /// Writes bytes of a file again that it shows and the disk may not have.
    fn overwrite(&self, name: &str, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Removes a file, if it is there.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Synchronizes the contents of a file.
    fn sync(&self, name: &str) -> io::Result<()>;

    /// Synchronizes which files there are.
    fn sync_names(&self) -> io::Result<()>;

    /// Synchronizes everything.
    fn sync_all(&self) -> io::Result<()>;

    /// The room of the disk.
    fn room(&self) -> io::Result<Room>;

    /// Makes a file of a size that takes room, and has no contents.
    fn set_aside(&self, name: &str, bytes: u64) -> io::Result<()>;

    /// The identity of the system's run, which ends with a loss of power.
    fn run_of_system(&self) -> String;

    /// The path of a file for messages, or that of the directory for no name.
    fn path(&self, name: &str) -> PathBuf;
}

/// A directory of the system, which one process uses at a time.
#[derive(Debug)]
pub struct SystemDirectory {
    path: PathBuf,
    /// The directory itself.
    directory: File,
    /// The files that were appended to last.
    appended: Mutex<Vec<(String, Arc<File>)>>,
    /// Locked as long as the directory is in use.
    _lock: File,
}

/// So many files are open for appending at a time: one of the log and one of data.
const APPENDED_MAX: usize = 2;

impl SystemDirectory {
    /// Opens a directory, which is made if it is not there.
    ///
    /// # Errors
    /// If another process uses it, or those of the system.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(path).map_err(StoreError::io("making", path))?;
        Ok(Self {
            path: path.into(),
            directory: File::open(path).map_err(StoreError::io("opening", path))?,
            appended: Mutex::default(),
            _lock: lock(path)?,
        })
    }

    /// A file that is open for appending.
    fn appended(&self, name: &str) -> io::Result<Arc<File>> {
        let mut files = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = files.iter().find(|(open, _)| open == name) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(OpenOptions::new().append(true).open(self.path(name))?);
        if files.len() == APPENDED_MAX {
            files.remove(0);
        }
        files.push((name.into(), Arc::clone(&file)));
        Ok(file)
    }

    /// Closes a file that was open for appending.
    fn close(&self, name: &str) {
        let mut files = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|(open, _)| open != name);
    }
}

impl Directory for SystemDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| {
            let name = entry?.file_name();
            Ok(name.to_string_lossy().into_owned())
        });
        names.collect()
    }

    fn size(&self, name: &str) -> io::Result<u64> {
        Ok(fs::metadata(self.path(name))?.len())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let written = file.write_all(bytes);
        written.inspect_err(|_| drop(fs::remove_file(&path)))
    }

    fn append(&self, name: &str, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.appended(name)?).write_vectored(pieces)
    }

    fn read(&self, name: &str, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        File::open(self.path(name))?.read_exact_at(bytes, offset)
    }

    fn truncate(&self, name: &str, bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(name))?;
        file.set_len(bytes)
    }

    fn overwrite(&self, name: &str, bytes: &[u8], offset: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(name))?;
        file.write_all_at(bytes, offset)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.close(name);
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.appended(name)?.sync_data()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(syncfs(&self.directory)?)
    }

    fn room(&self) -> io::Result<Room> {
        let disk = statvfs(&self.path)?;
        Ok(Room {
            total_bytes: disk.f_blocks * disk.f_frsize,
            free_bytes: disk.f_bavail * disk.f_frsize,
        })
    }

    fn set_aside(&self, name: &str, bytes: u64) -> io::Result<()> {
        let path = self.path(name);
        let file = File::create(&path)?;
        let taken = fallocate(&file, FallocateFlags::empty(), 0, bytes.max(1));
        Ok(taken.inspect_err(|_| drop(fs::remove_file(&path)))?)
    }

    fn run_of_system(&self) -> String {
        let run = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        run.map_or_else(|_| unknown_run(), |run| run.trim().into())
    }

    fn path(&self, name: &str) -> PathBuf {
        match name {
            "" => self.path.clone(),
            name => self.path.join(name),
        }
    }
}

/// A system that does not say it may have restarted at any time.
fn unknown_run() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("unknown-{}", now.unwrap_or_default().as_nanos())
}

/// Locks a directory for this process, as long as the file is open.
fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join("lock");
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(StoreError::io("opening", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(directory.into())),
        Err(TryLockError::Error(error)) => Err(StoreError::io("locking", path)(error)),
    }
}
