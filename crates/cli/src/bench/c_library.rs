//! A cluster through a shared library with the interface of CHFS (`chfs.h`), loaded at run time.

use super::{
    perform::{Measured, Part, Tally, Which},
    target::{FileSystem, Session, Wanted, block},
};
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use libc::{c_char, c_int, c_void, mode_t, off_t, size_t, ssize_t, stat};
use libloading::Library as SharedLibrary;
use std::{
    ffi::{CStr, CString},
    io,
    mem::MaybeUninit,
    path::Path,
};

type Filler = unsafe extern "C" fn(*mut c_void, *const c_char, *const stat, off_t) -> c_int;

/// The functions in use. They stay valid as long as the library is loaded.
struct Functions {
    term: unsafe extern "C" fn() -> c_int,
    create: unsafe extern "C" fn(*const c_char, i32, mode_t) -> c_int,
    open: unsafe extern "C" fn(*const c_char, i32) -> c_int,
    close: unsafe extern "C" fn(c_int) -> c_int,
    fsync: unsafe extern "C" fn(c_int) -> c_int,
    pwrite: unsafe extern "C" fn(c_int, *const c_void, size_t, off_t) -> ssize_t,
    pread: unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t,
    unlink: unsafe extern "C" fn(*const c_char) -> c_int,
    mkdir: unsafe extern "C" fn(*const c_char, mode_t) -> c_int,
    rmdir: unsafe extern "C" fn(*const c_char) -> c_int,
    stat: unsafe extern "C" fn(*const c_char, *mut stat) -> c_int,
    readdir: unsafe extern "C" fn(*const c_char, *mut c_void, Filler) -> c_int,
}

/// A client that calls the library.
pub struct CLibrary {
    functions: Functions,
    /// Loaded until the functions are gone.
    _library: SharedLibrary,
}

/// The flag of `open` for reading and writing, as IOR passes it.
const READ_AND_WRITE: i32 = libc::O_RDWR;

impl CLibrary {
    /// Loads the library and connects it to a cluster.
    pub fn open(library: &Path, cluster: &Path) -> anyhow::Result<Self> {
        let name = library.display();
        // SAFETY: the user names a library that may run code when it is loaded, as a program that
        // is linked with it does.
        let loaded = unsafe { SharedLibrary::new(library) };
        let loaded = loaded.with_context(|| format!("loading {name}"))?;
        let functions = Functions::find(&loaded).with_context(|| format!("{name}"))?;
        // SAFETY: chfs.h declares this function so.
        let init =
            unsafe { loaded.get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"chfs_init") };
        let server = CString::new(cluster.as_os_str().as_encoded_bytes())?;
        // SAFETY: the text ends with NUL and lives until the call returns.
        let status = unsafe { init?(server.as_ptr()) };
        succeeded(status, "connecting to", &cluster.display().to_string())?;
        Ok(Self {
            functions,
            _library: loaded,
        })
    }

    fn attributes(&self, path: &str) -> anyhow::Result<stat> {
        let (name, mut attributes) = (c_path(path)?, MaybeUninit::<stat>::zeroed());
        // SAFETY: the path ends with NUL, and the function fills a `stat` of this platform.
        let status = unsafe { (self.functions.stat)(name.as_ptr(), attributes.as_mut_ptr()) };
        succeeded(status, "asking for", path)?;
        // SAFETY: zeros are a `stat`, too.
        Ok(unsafe { attributes.assume_init() })
    }

    fn entries(&self, path: &str) -> anyhow::Result<Vec<Entry>> {
        let (name, mut entries) = (c_path(path)?, Vec::<Entry>::new());
        let buffer = std::ptr::from_mut(&mut entries).cast();
        // SAFETY: the filler is called during the call only, with this buffer.
        let status = unsafe { (self.functions.readdir)(name.as_ptr(), buffer, take_entry) };
        succeeded(status, "reading", path)?;
        Ok(entries)
    }
}

impl Functions {
    fn find(library: &SharedLibrary) -> Result<Self, libloading::Error> {
        // SAFETY: chfs.h declares every function as this struct does.
        unsafe {
            Ok(Self {
                term: *library.get(b"chfs_term")?,
                create: *library.get(b"chfs_create")?,
                open: *library.get(b"chfs_open")?,
                close: *library.get(b"chfs_close")?,
                fsync: *library.get(b"chfs_fsync")?,
                pwrite: *library.get(b"chfs_pwrite")?,
                pread: *library.get(b"chfs_pread")?,
                unlink: *library.get(b"chfs_unlink")?,
                mkdir: *library.get(b"chfs_mkdir")?,
                rmdir: *library.get(b"chfs_rmdir")?,
                stat: *library.get(b"chfs_stat")?,
                readdir: *library.get(b"chfs_readdir")?,
            })
        }
    }
}

impl Drop for CLibrary {
    fn drop(&mut self) {
        // SAFETY: the library was initialized, and nothing of it is under way.
        unsafe { (self.functions.term)() };
    }
}

/// An entry of a directory.
struct Entry {
    name: String,
    is_directory: bool,
    size_bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

/// Adds an entry to the `Vec<Entry>` that `buffer` is.
unsafe extern "C" fn take_entry(
    buffer: *mut c_void,
    name: *const c_char,
    attributes: *const stat,
    _: off_t,
) -> c_int {
    // SAFETY: `entries` passes a vector that nothing else uses, and the library a name that ends
    // with NUL and attributes that live during the call.
    let (entries, name, attributes) = unsafe {
        (
            &mut *buffer.cast::<Vec<Entry>>(),
            CStr::from_ptr(name),
            attributes.as_ref(),
        )
    };
    let Some(attributes) = attributes else {
        return 0;
    };
    entries.push(Entry {
        name: name.to_string_lossy().into_owned(),
        is_directory: attributes.st_mode & libc::S_IFMT == libc::S_IFDIR,
        size_bytes: attributes.st_size.unsigned_abs(),
        modified: (attributes.st_mtime, attributes.st_mtime_nsec),
    });
    0
}

fn c_path(path: &str) -> anyhow::Result<CString> {
    Ok(CString::new(format!("/{path}"))?)
}

fn succeeded(status: c_int, doing: &str, path: &str) -> anyhow::Result<c_int> {
    let error = io::Error::last_os_error;
    ensure!(status >= 0, "{doing} {path}: {}", error());
    Ok(status)
}

impl FileSystem for CLibrary {
    fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        let name = c_path(path)?;
        // SAFETY: the path ends with NUL.
        let status = unsafe { (self.functions.mkdir)(name.as_ptr(), 0o755) };
        if status < 0 && io::Error::last_os_error().kind() == io::ErrorKind::AlreadyExists {
            return Ok(());
        }
        succeeded(status, "making", path).map(drop)
    }

    fn unlink(&self, path: &str) -> anyhow::Result<()> {
        let name = c_path(path)?;
        // SAFETY: the path ends with NUL.
        let status = unsafe { (self.functions.unlink)(name.as_ptr()) };
        succeeded(status, "removing", path).map(drop)
    }

    fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        let name = c_path(path)?;
        // SAFETY: the path ends with NUL.
        let status = unsafe { (self.functions.rmdir)(name.as_ptr()) };
        succeeded(status, "removing", path).map(drop)
    }

    /// The interface has nothing for it.
    fn drop_pages(&self, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    /// Every call blocks, so that one operation is under way.
    fn perform(&self, part: &Part<'_>, in_flight: u32) -> Measured {
        ensure!(
            in_flight == 1,
            "calls of the C library block: one at a time"
        );
        let tally = Tally::default();
        let file = block(part.open(self))?;
        let which = Which { lane: 0, lanes: 1 };
        let done = block(part.lane(self, file.as_ref(), which, &tally));
        let ended = block(part.end(self, file));
        done.and(ended).map(|()| tally.into_sums())
    }
}

impl Session for CLibrary {
    type File = c_int;

    async fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()> {
        let name = c_path(path)?;
        // SAFETY: the path ends with NUL.
        let file = unsafe { (self.functions.create)(name.as_ptr(), READ_AND_WRITE, 0o664) };
        let file = succeeded(file, "making", path)?;
        if !contents.is_empty() {
            self.write_at(&file, 0, contents.into()).await?;
        }
        self.close(file).await
    }

    async fn size(&self, path: &str) -> anyhow::Result<u64> {
        Ok(self.attributes(path)?.st_size.unsigned_abs())
    }

    async fn read(&self, path: &str, length: u32) -> anyhow::Result<Bytes> {
        let file = self.open(path, false).await?;
        let data = self.read_at(&file, 0, length).await?;
        self.close(file).await?;
        Ok(data)
    }

    async fn unlink(&self, path: &str) -> anyhow::Result<()> {
        FileSystem::unlink(self, path)
    }

    async fn open(&self, path: &str, write: bool) -> anyhow::Result<c_int> {
        let name = c_path(path)?;
        let file = if write {
            // SAFETY: the path ends with NUL.
            unsafe { (self.functions.create)(name.as_ptr(), READ_AND_WRITE, 0o664) }
        } else {
            // SAFETY: the path ends with NUL.
            unsafe { (self.functions.open)(name.as_ptr(), READ_AND_WRITE) }
        };
        succeeded(file, "opening", path)
    }

    async fn write_at(&self, file: &c_int, offset: u64, data: Bytes) -> anyhow::Result<()> {
        let (data, length) = (data.as_ptr().cast(), data.len());
        // SAFETY: so many bytes are there.
        let written = unsafe { (self.functions.pwrite)(*file, data, length, offset.try_into()?) };
        if written < 0 {
            bail!("writing at {offset}: {}", io::Error::last_os_error());
        }
        ensure!(
            written.unsigned_abs() == length,
            "only {written} bytes were written at {offset}"
        );
        Ok(())
    }

    async fn read_at(&self, file: &c_int, offset: u64, length: u32) -> anyhow::Result<Bytes> {
        let mut data = vec![0; length as usize];
        let (buffer, length) = (data.as_mut_ptr().cast(), data.len());
        // SAFETY: the buffer has so many bytes.
        let read = unsafe { (self.functions.pread)(*file, buffer, length, offset.try_into()?) };
        if read < 0 {
            bail!("reading at {offset}: {}", io::Error::last_os_error());
        }
        data.truncate(read.unsigned_abs());
        Ok(data.into())
    }

    async fn flush(&self, file: &c_int) -> anyhow::Result<()> {
        // SAFETY: a plain call.
        let status = unsafe { (self.functions.fsync)(*file) };
        succeeded(status, "synchronizing", "a file").map(drop)
    }

    async fn close(&self, file: c_int) -> anyhow::Result<()> {
        // SAFETY: a plain call.
        let status = unsafe { (self.functions.close)(file) };
        succeeded(status, "closing", "a file").map(drop)
    }

    /// The interface lists one directory a call, so that the first rank walks the tree.
    async fn find(&self, root: &str, wanted: &Wanted<'_>) -> anyhow::Result<u64> {
        if wanted.rank != 0 {
            return Ok(0);
        }
        let attributes = self.attributes(wanted.newer_than)?;
        let newer_than = (attributes.st_mtime, attributes.st_mtime_nsec);
        let (mut directories, mut found) = (vec![root.to_owned()], 0);
        while let Some(directory) = directories.pop() {
            for entry in self.entries(&directory)? {
                if entry.is_directory && entry.name != "." && entry.name != ".." {
                    directories.push(format!("{directory}/{}", entry.name));
                }
                let is_wanted = entry.size_bytes == wanted.size_bytes
                    && entry.modified > newer_than
                    && entry.name.contains(wanted.name_part);
                found += u64::from(is_wanted);
            }
        }
        Ok(found)
    }
}
