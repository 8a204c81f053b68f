//! The operations, each on the underlying directory.

use super::inodes::{Inodes, attributes};
use super::locks::Locks;
use futago_fuse_kernel::{
    CopyFileRange, Create, DirectoryList, Entry, Fallocate, FileSystemUsage, Forget, Handler,
    Header, OpenFlags, Operation, Read, Reply, Request, SetAttributes, SetTime, Write,
};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{Errno, Result};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Every read and write goes to the file system.
pub const UNCACHED: OpenFlags = OpenFlags::DIRECT_IO.union(OpenFlags::PARALLEL_DIRECT_WRITES);

/// A directory's names, with inode numbers and types. The cookie of a name is its index plus 1.
type Listing = Arc<Vec<(Vec<u8>, u64, u32)>>;

pub struct Passthrough {
    inodes: Inodes,
    files: Mutex<HashMap<u64, Arc<OwnedFd>>>,
    directories: Mutex<HashMap<u64, Listing>>,
    next_handle: AtomicU64,
    open_flags: OpenFlags,
    pub locks: Locks,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    largest_write: AtomicU64,
}

impl Handler for Passthrough {
    fn handle(&self, request: Request, reply: Reply) {
        *self
            .counts
            .lock()
            .expect("lock")
            .entry(request.operation.name())
            .or_default() += 1;
        self.answer(request.header, request.operation, reply);
    }

    fn interrupt(&self, unique: u64) {
        self.locks.interrupt(unique);
    }

    fn forget(&self, nodes: &[Forget]) {
        self.inodes.forget(nodes);
    }
}

/// Replies with the operation's result, or its errno.
fn finish<T>(result: Result<T>, reply: Reply, answer: impl FnOnce(Reply, T)) {
    match result {
        Ok(value) => answer(reply, value),
        Err(errno) => reply.error(errno.raw_os_error()),
    }
}

impl Passthrough {
    pub fn new(source: &str, open_flags: OpenFlags) -> Result<Self> {
        let root = fs::open(source, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self {
            inodes: Inodes::new(root),
            files: Mutex::default(),
            directories: Mutex::default(),
            next_handle: AtomicU64::new(1),
            open_flags,
            locks: Locks::default(),
            counts: Mutex::default(),
            largest_write: AtomicU64::new(0),
        })
    }

    /// The number of requests for each operation.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().expect("lock").clone()
    }

    /// The most bytes of one write.
    #[allow(dead_code)] // For tests.
    pub fn largest_write_bytes(&self) -> u64 {
        self.largest_write.load(Ordering::Relaxed)
    }

    #[allow(clippy::too_many_lines)] // One line an operation.
    fn answer(&self, who: Header, operation: Operation, reply: Reply) {
        let node = who.node;
        let entry = |reply: Reply, entry: Entry| reply.entry(&entry);
        let ok = |reply: Reply, ()| reply.ok();
        match operation {
            Operation::Lookup { name } => finish(self.inodes.lookup(node, &name), reply, entry),
            Operation::GetAttributes { .. } => self.attributes(node, reply),
            Operation::Statx { .. } => {
                let stat = self.inodes.fd(node).and_then(attributes);
                finish(stat, reply, |reply, stat| {
                    reply.statx(&stat, Duration::ZERO)
                });
            }
            Operation::SetAttributes(set) => match self.set_attributes(node, &set) {
                Ok(()) => self.attributes(node, reply),
                Err(errno) => reply.error(errno.raw_os_error()),
            },
            Operation::ReadLink => finish(self.read_link(node), reply, |r, target| r.data(&target)),
            Operation::Symlink { name, target } => {
                let made = self
                    .inodes
                    .fd(node)
                    .and_then(|fd| fs::symlinkat(&target[..], fd, &name[..]));
                finish(made.and_then(|()| self.made(who, &name)), reply, entry);
            }
            Operation::MakeNode(make) => {
                let (kind, mode) = (
                    fs::FileType::from_raw_mode(make.mode),
                    Mode::from_raw_mode(make.mode),
                );
                let made = self
                    .inodes
                    .fd(node)
                    .and_then(|fd| fs::mknodat(fd, &make.name[..], kind, mode, make.device.into()));
                finish(made.and_then(|()| self.made(who, &make.name)), reply, entry);
            }
            Operation::MakeDirectory { name, mode, .. } => {
                let made = self
                    .inodes
                    .fd(node)
                    .and_then(|fd| fs::mkdirat(fd, &name[..], Mode::from_raw_mode(mode)));
                finish(made.and_then(|()| self.made(who, &name)), reply, entry);
            }
            Operation::Unlink { name } => {
                finish(self.unlink(node, &name, AtFlags::empty()), reply, ok)
            }
            Operation::RemoveDirectory { name } => {
                finish(self.unlink(node, &name, AtFlags::REMOVEDIR), reply, ok);
            }
            Operation::Rename(rename) => {
                let flags = fs::RenameFlags::from_bits_retain(rename.flags);
                let renamed = self.inodes.fd(node).and_then(|from| {
                    let to = self.inodes.fd(rename.new_directory)?;
                    fs::renameat_with(from, &rename.name[..], to, &rename.new_name[..], flags)
                });
                finish(renamed, reply, ok);
            }
            Operation::Link { node: old, name } => {
                finish(self.link(old, node, &name), reply, entry)
            }
            Operation::Open {
                flags,
                kill_suidgid,
            } => {
                finish(self.open(node, flags, kill_suidgid), reply, |r, handle| {
                    r.opened(handle, self.open_flags)
                });
            }
            Operation::Create(create) => self.created(self.create(who, &create), reply),
            Operation::TemporaryFile(create) => self.created(self.temporary(who, &create), reply),
            Operation::Read(read) => finish(self.read(&read), reply, |r, data| r.data(&data)),
            Operation::Write(write) => finish(self.write(node, &write), reply, |r, bytes| {
                r.written(bytes as u32)
            }),
            Operation::StatFs => finish(self.usage(node), reply, |r, usage| r.statfs(&usage)),
            Operation::Release(release) => {
                self.files.lock().expect("lock").remove(&release.handle);
                self.locks.drop_handle(node, release.handle);
                reply.ok();
            }
            Operation::Fsync { handle, .. } => {
                finish(self.file(handle).and_then(fs::fsync), reply, ok);
            }
            Operation::Flush { lock_owner, .. } => {
                self.locks.drop_owner(node, lock_owner);
                reply.ok();
            }
            Operation::OpenDirectory { .. } => {
                finish(self.list(node), reply, |r, handle| {
                    r.opened(handle, OpenFlags::empty())
                });
            }
            Operation::ReadDirectory {
                handle,
                offset,
                size,
            } => {
                let list = self.read_directory(handle, offset, size, None);
                finish(list, reply, |r, list| r.directory(&list));
            }
            Operation::ReadDirectoryPlus {
                handle,
                offset,
                size,
            } => {
                let list = self.read_directory(handle, offset, size, Some(node));
                finish(list, reply, |r, list| r.directory(&list));
            }
            Operation::ReleaseDirectory { handle, .. } => {
                self.directories.lock().expect("lock").remove(&handle);
                reply.ok();
            }
            Operation::GetLock(request) => self.locks.get(node, &request, reply),
            Operation::SetLock { request, wait, .. } => self.locks.set(node, request, wait, reply),
            Operation::SetXattr(set) => {
                let flags = fs::XattrFlags::from_bits_retain(set.flags);
                let path = self.inodes.path(node);
                finish(
                    path.and_then(|path| fs::setxattr(path, &set.name[..], &set.value, flags)),
                    reply,
                    ok,
                );
            }
            Operation::GetXattr { name, size } => {
                let mut value = vec![0; 64 << 10];
                let path = self.inodes.path(node);
                let length = path.and_then(|path| fs::getxattr(path, &name[..], &mut value));
                finish(length, reply, |reply, length| {
                    xattr(reply, size, &value[..length])
                });
            }
            Operation::ListXattr { size } => {
                let mut names = vec![0; 64 << 10];
                let length = self
                    .inodes
                    .path(node)
                    .and_then(|path| fs::listxattr(path, &mut names));
                finish(length, reply, |reply, length| {
                    xattr(reply, size, &names[..length])
                });
            }
            Operation::RemoveXattr { name } => {
                let path = self.inodes.path(node);
                finish(
                    path.and_then(|path| fs::removexattr(path, &name[..])),
                    reply,
                    ok,
                );
            }
            Operation::Fallocate(range) => finish(self.allocate(&range), reply, ok),
            Operation::Seek {
                handle,
                offset,
                whence,
            } => {
                finish(self.seek(handle, offset, whence), reply, |r, offset| {
                    r.offset(offset)
                });
            }
            Operation::CopyFileRange(copy) => {
                finish(self.copy(&copy), reply, |r, bytes| r.copied(bytes))
            }
            Operation::FsyncDirectory { .. } | Operation::SyncFs => reply.ok(),
            _ => reply.error(libc::ENOSYS),
        }
    }

    fn attributes(&self, node: u64, reply: Reply) {
        let stat = self.inodes.fd(node).and_then(attributes);
        finish(stat, reply, |reply, stat| {
            reply.attributes(&stat, Duration::ZERO)
        });
    }

    fn set_attributes(&self, node: u64, set: &SetAttributes) -> Result<()> {
        let (fd, path) = (self.inodes.fd(node)?, self.inodes.path(node)?);
        if set.kill_suidgid {
            self.clear_suidgid(node)?;
        }
        if let Some(mode) = set.mode {
            fs::chmod(&path, Mode::from_raw_mode(mode))?;
        }
        if set.uid.is_some() || set.gid.is_some() {
            let (uid, gid) = (
                set.uid.map(fs::Uid::from_raw),
                set.gid.map(fs::Gid::from_raw),
            );
            fs::chownat(&fd, "", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(size) = set.size {
            match set.handle {
                Some(handle) => fs::ftruncate(self.file(handle)?, size)?,
                None => fs::ftruncate(fs::open(&path, OFlags::WRONLY, Mode::empty())?, size)?,
            }
        }
        let times = fs::Timestamps {
            last_access: time(set.atime),
            last_modification: time(set.mtime),
        };
        fs::utimensat(fs::CWD, &path, &times, AtFlags::empty())
    }

    /// Clears set-user-id and set-group-id, as every write and truncation by an ordinary user does.
    fn clear_suidgid(&self, node: u64) -> Result<()> {
        let mode = attributes(self.inodes.fd(node)?)?.mode;
        let group = if mode & libc::S_IXGRP != 0 {
            libc::S_ISGID
        } else {
            0
        };
        let cleared = mode & !libc::S_IFMT & !(libc::S_ISUID | group);
        fs::chmod(self.inodes.path(node)?, Mode::from_raw_mode(cleared))
    }

    fn read_link(&self, node: u64) -> Result<Vec<u8>> {
        Ok(fs::readlinkat(self.inodes.fd(node)?, "", Vec::new())?.into_bytes())
    }

    /// Makes the caller the owner of a new name and counts the lookup.
    fn made(&self, who: Header, name: &[u8]) -> Result<Entry> {
        let (uid, gid) = (fs::Uid::from_raw(who.uid), fs::Gid::from_raw(who.gid));
        let parent = self.inodes.fd(who.node)?;
        fs::chownat(
            parent,
            name,
            Some(uid),
            Some(gid),
            AtFlags::SYMLINK_NOFOLLOW,
        )?;
        self.inodes.lookup(who.node, name)
    }

    fn unlink(&self, node: u64, name: &[u8], flags: AtFlags) -> Result<()> {
        fs::unlinkat(self.inodes.fd(node)?, name, flags)
    }

    fn link(&self, old: u64, directory: u64, name: &[u8]) -> Result<Entry> {
        let to = self.inodes.fd(directory)?;
        fs::linkat(
            fs::CWD,
            self.inodes.path(old)?,
            to,
            name,
            AtFlags::SYMLINK_FOLLOW,
        )?;
        self.inodes.lookup(directory, name)
    }

    fn open(&self, node: u64, flags: u32, kill_suidgid: bool) -> Result<u64> {
        if kill_suidgid {
            self.clear_suidgid(node)?;
        }
        let dropped = libc::O_APPEND | libc::O_NOFOLLOW | libc::O_DIRECT;
        let flags = OFlags::from_bits_retain(flags & !(dropped as u32));
        let path = self.inodes.path(node)?;
        Ok(self.keep(fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?))
    }

    fn create(&self, who: Header, create: &Create) -> Result<(Entry, u64)> {
        let flags = OFlags::from_bits_retain(create.flags & !(libc::O_APPEND as u32));
        let parent = self.inodes.fd(who.node)?;
        let mode = Mode::from_raw_mode(create.mode);
        let fd = fs::openat(
            parent,
            &create.name[..],
            flags | OFlags::CREATE | OFlags::CLOEXEC,
            mode,
        )?;
        Ok((self.made(who, &create.name)?, self.keep(fd)))
    }

    fn temporary(&self, who: Header, create: &Create) -> Result<(Entry, u64)> {
        let flags = OFlags::from_bits_retain(create.flags) | OFlags::TMPFILE | OFlags::CLOEXEC;
        let fd = fs::open(
            self.inodes.path(who.node)?,
            flags,
            Mode::from_raw_mode(create.mode),
        )?;
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let entry = self
            .inodes
            .remember(fs::open(path, OFlags::PATH, Mode::empty())?)?;
        Ok((entry, self.keep(fd)))
    }

    fn created(&self, created: Result<(Entry, u64)>, reply: Reply) {
        finish(created, reply, |reply, (entry, handle)| {
            reply.created(&entry, handle, self.open_flags);
        });
    }

    fn read(&self, read: &Read) -> Result<Vec<u8>> {
        let mut data = vec![0; read.size as usize];
        let file = self.file(read.handle)?;
        let bytes = rustix::io::pread(file, &mut data, read.offset)?;
        data.truncate(bytes);
        Ok(data)
    }

    fn write(&self, node: u64, write: &Write) -> Result<usize> {
        if write.kill_suidgid {
            self.clear_suidgid(node)?;
        }
        self.largest_write
            .fetch_max(write.data.len() as u64, Ordering::Relaxed);
        let file = self.file(write.handle)?;
        if write.flags & libc::O_APPEND as u32 != 0 && !write.from_cache {
            let _one_at_a_time = self.files.lock().expect("lock");
            let end = attributes(&file)?.size;
            return rustix::io::pwrite(file, &write.data, end);
        }
        rustix::io::pwrite(file, &write.data, write.offset)
    }

    fn usage(&self, node: u64) -> Result<FileSystemUsage> {
        let usage = fs::statvfs(self.inodes.path(node)?)?;
        Ok(FileSystemUsage {
            blocks: usage.f_blocks,
            blocks_free: usage.f_bfree,
            blocks_available: usage.f_bavail,
            files: usage.f_files,
            files_free: usage.f_ffree,
            block_size: usage.f_bsize as u32,
            name_length: usage.f_namemax as u32,
        })
    }

    fn list(&self, node: u64) -> Result<u64> {
        let fd = fs::open(
            self.inodes.path(node)?,
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )?;
        let names: Result<Vec<_>> = fs::Dir::new(fd)?
            .map(|entry| {
                let entry = entry?;
                let mode = entry.file_type().as_raw_mode();
                Ok((entry.file_name().to_bytes().to_vec(), entry.ino(), mode))
            })
            .collect();
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.directories
            .lock()
            .expect("lock")
            .insert(handle, Arc::new(names?));
        Ok(handle)
    }

    fn read_directory(
        &self,
        handle: u64,
        offset: u64,
        size: u32,
        plus: Option<u64>,
    ) -> Result<DirectoryList> {
        let listing = self
            .directories
            .lock()
            .expect("lock")
            .get(&handle)
            .cloned()
            .ok_or(Errno::BADF)?;
        let mut list = DirectoryList::new(size);
        for (index, (name, inode, mode)) in listing.iter().enumerate().skip(offset as usize) {
            let cookie = index as u64 + 1;
            let fits = match plus {
                Some(parent) => self.push_plus(&mut list, parent, cookie, (name, *inode, *mode)),
                None => list.push(*inode, cookie, *mode, name),
            };
            if !fits {
                break;
            }
        }
        Ok(list)
    }

    fn push_plus(
        &self,
        list: &mut DirectoryList,
        parent: u64,
        cookie: u64,
        (name, inode, mode): (&[u8], u64, u32),
    ) -> bool {
        let mut nameless = Entry::default();
        (nameless.attributes.inode, nameless.attributes.mode) = (inode, mode);
        if name == b"." || name == b".." {
            return list.push_plus(&nameless, cookie, name);
        }
        let entry = self.inodes.lookup(parent, name).unwrap_or(nameless);
        let fits = list.push_plus(&entry, cookie, name);
        if !fits && entry.node != 0 {
            self.inodes.forget(&[Forget {
                node: entry.node,
                lookups: 1,
            }]);
        }
        fits
    }

    fn allocate(&self, range: &Fallocate) -> Result<()> {
        let flags = fs::FallocateFlags::from_bits_retain(range.mode);
        fs::fallocate(self.file(range.handle)?, flags, range.offset, range.length)
    }

    fn seek(&self, handle: u64, offset: u64, whence: u32) -> Result<u64> {
        let from = match whence as i32 {
            libc::SEEK_DATA => fs::SeekFrom::Data(offset),
            libc::SEEK_HOLE => fs::SeekFrom::Hole(offset),
            _ => return Err(Errno::INVAL),
        };
        fs::seek(self.file(handle)?, from)
    }

    fn copy(&self, copy: &CopyFileRange) -> Result<u64> {
        let (from, to) = (self.file(copy.handle)?, self.file(copy.target_handle)?);
        let (mut at, mut target_at) = (copy.offset, copy.target_offset);
        let length = usize::try_from(copy.length).unwrap_or(usize::MAX);
        fs::copy_file_range(from, Some(&mut at), to, Some(&mut target_at), length).map(|n| n as u64)
    }

    fn file(&self, handle: u64) -> Result<Arc<OwnedFd>> {
        self.files
            .lock()
            .expect("lock")
            .get(&handle)
            .cloned()
            .ok_or(Errno::BADF)
    }

    fn keep(&self, fd: OwnedFd) -> u64 {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.files
            .lock()
            .expect("lock")
            .insert(handle, Arc::new(fd));
        handle
    }
}

fn xattr(reply: Reply, size: u32, value: &[u8]) {
    match size as usize {
        0 => reply.xattr_size(value.len() as u32),
        room if room < value.len() => reply.error(libc::ERANGE),
        _ => reply.data(value),
    }
}

fn time(set: Option<SetTime>) -> fs::Timespec {
    let special = |tv_nsec| fs::Timespec { tv_sec: 0, tv_nsec };
    match set {
        None => special(fs::UTIME_OMIT),
        Some(SetTime::Now) => special(fs::UTIME_NOW),
        Some(SetTime::At(at)) => fs::Timespec {
            tv_sec: at.seconds,
            tv_nsec: at.nanoseconds.into(),
        },
    }
}
