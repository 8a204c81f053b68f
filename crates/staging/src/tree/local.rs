//! Local file systems.

use super::{Links, Tree, TreeEntry, TreeListing, Xattr};
use crate::{Failure, NodeMetadata, Result, TreePath, metadata::decoded};
use bytes::Bytes;
use futago_base::{Kind, Timestamp};
use rustix::{
    fs::{
        self, AtFlags, CWD, FileType, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid,
        XattrFlags,
    },
    io::Errno,
};
use std::{
    fs::{DirBuilder, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, FileExt},
    },
};

/// The local file system. Nodes that are no files are reached by their path.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalTree;

/// A node of the local file system.
#[derive(Debug)]
pub struct LocalNode {
    path: TreePath,
    /// The open file, if it is one.
    file: Option<File>,
}

/// Prefixes of attributes that mean something on one host only.
const OF_THE_HOST: [&[u8]; 2] = [b"system.", b"security.selinux"];

impl LocalNode {
    fn file(&self) -> Result<&File> {
        let missing = || Failure::of_file(&self.path, "opening", "it is no regular file");
        self.file.as_ref().ok_or_else(missing)
    }

    /// Names the path of an error.
    fn named<T>(&self, action: &str, result: io::Result<T>) -> Result<T> {
        named(&self.path, action, result)
    }
}

fn named<T>(path: &TreePath, action: &str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| Failure::local(path, action, &error))
}

impl LocalTree {
    fn open_with(path: &TreePath, metadata: &NodeMetadata, access: OFlags) -> Result<LocalNode> {
        let file = match metadata.kind {
            Kind::File => {
                // A pipe that has taken the file's place must not block.
                let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = fs::open(path.local(), flags, Mode::empty());
                Some(named(path, "opening", opened.map_err(Into::into))?.into())
            }
            _ => None,
        };
        let node = LocalNode {
            path: path.clone(),
            file,
        };
        match Self.metadata_of(&node)?.identity == metadata.identity {
            true => Ok(node),
            false => Err(Failure::changed(path)),
        }
    }

    fn entry(self, directory: &TreePath, name: &[u8]) -> Result<Option<TreeEntry>> {
        let metadata = self.metadata(&directory.join(name), Links::Unfollowed)?;
        let name = name.to_vec();
        Ok(metadata.map(|metadata| TreeEntry { name, metadata }))
    }

    fn special(path: &TreePath, like: &NodeMetadata) -> io::Result<()> {
        let kind = match like.kind {
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::CharacterDevice => FileType::CharacterDevice,
            Kind::BlockDevice => FileType::BlockDevice,
            Kind::File | Kind::Directory | Kind::Symlink => return Err(Errno::INVAL.into()),
        };
        let device = decoded(like.device);
        Ok(fs::mknodat(
            CWD,
            path.local(),
            kind,
            Mode::RUSR | Mode::WUSR,
            device,
        )?)
    }
}

fn by_path(path: &TreePath) -> LocalNode {
    LocalNode {
        path: path.clone(),
        file: None,
    }
}

impl Tree for LocalTree {
    type Node = LocalNode;

    fn metadata(&self, path: &TreePath, links: Links) -> Result<Option<NodeMetadata>> {
        let found = match links {
            Links::Followed => path.local().metadata(),
            Links::Unfollowed => path.local().symlink_metadata(),
        };
        match found {
            Ok(found) => Ok(Some((&found).into())),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(Failure::local(path, "reading", &error)),
            },
        }
    }

    fn list(&self, directory: &TreePath) -> TreeListing {
        let mut listing = TreeListing::default();
        let names = match named(directory, "listing", directory.local().read_dir()) {
            Ok(names) => names,
            Err(failure) => {
                listing.failures.push(failure);
                return listing;
            }
        };
        for name in names {
            let name = named(directory, "listing", name);
            match name.and_then(|name| self.entry(directory, name.file_name().as_bytes())) {
                Ok(entry) => listing.entries.extend(entry),
                Err(failure) => listing.failures.push(failure),
            }
        }
        listing
    }

    fn open(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<LocalNode> {
        Self::open_with(path, metadata, OFlags::RDONLY)
    }

    fn open_to_write(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<LocalNode> {
        Self::open_with(path, metadata, OFlags::RDWR)
    }

    fn create_file(&self, path: &TreePath) -> Result<LocalNode> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::open(path.local(), flags, Mode::RUSR | Mode::WUSR);
        Ok(LocalNode {
            path: path.clone(),
            file: Some(named(path, "creating", file.map_err(Into::into))?.into()),
        })
    }

    fn create_released(&self, path: &TreePath, _: u64) -> Result<LocalNode> {
        let cause = "only a cluster has files without their data";
        Err(Failure::of_file(path, "creating", cause))
    }

    fn create_symlink(&self, path: &TreePath, target: &[u8]) -> Result<LocalNode> {
        let made = fs::symlink(target, path.local());
        named(path, "creating", made.map_err(Into::into))?;
        Ok(by_path(path))
    }

    fn create_special(&self, path: &TreePath, like: &NodeMetadata) -> Result<LocalNode> {
        named(path, "creating", Self::special(path, like))?;
        Ok(by_path(path))
    }

    fn make_directory(&self, path: &TreePath, mode: u16) -> Result<()> {
        let made = DirBuilder::new().mode(mode.into()).create(path.local());
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = named(path, "reading", path.local().symlink_metadata())?;
                let mode = NodeMetadata::from(&found).mode;
                if !found.is_dir() {
                    return Err(Failure::of_file(
                        path,
                        "making",
                        "it exists and is no directory",
                    ));
                }
                if mode & 0o700 != 0o700 {
                    let mode = Mode::from_raw_mode(u32::from(mode | 0o700));
                    let set = fs::chmod(path.local(), mode);
                    named(path, "opening", set.map_err(Into::into))?;
                }
                Ok(())
            }
            made => named(path, "making", made),
        }
    }

    fn link(&self, path: &TreePath, new: &TreePath) -> Result<()> {
        let linked = fs::linkat(CWD, path.local(), CWD, new.local(), AtFlags::empty());
        named(new, "linking", linked.map_err(Into::into))
    }

    fn rename(&self, from: &TreePath, to: &TreePath) -> Result<()> {
        named(to, "naming", std::fs::rename(from.local(), to.local()))
    }

    fn remove(&self, path: &TreePath) -> Result<()> {
        match std::fs::remove_file(path.local()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => named(path, "removing", removed),
        }
    }

    fn metadata_of(&self, node: &LocalNode) -> Result<NodeMetadata> {
        let found = match &node.file {
            Some(file) => file.metadata(),
            None => node.path.local().symlink_metadata(),
        };
        Ok(NodeMetadata::from(&node.named("reading", found)?))
    }

    fn read(&self, node: &LocalNode, offset: u64, length: u32) -> Result<Bytes> {
        let mut data = vec![0; length as usize];
        let mut filled = 0;
        while filled < data.len() {
            let at = offset + filled as u64;
            match node.named("reading", node.file()?.read_at(&mut data[filled..], at))? {
                0 => break,
                read => filled += read,
            }
        }
        data.truncate(filled);
        Ok(data.into())
    }

    fn write(&self, node: &LocalNode, offset: u64, data: Bytes) -> Result<()> {
        node.named("writing", node.file()?.write_all_at(&data, offset))
    }

    fn next_data(&self, node: &LocalNode, offset: u64) -> Result<Option<u64>> {
        match fs::seek(node.file()?, SeekFrom::Data(offset)) {
            Err(Errno::NXIO) => Ok(None),
            found => Ok(Some(node.named("reading", found.map_err(Into::into))?)),
        }
    }

    fn next_hole(&self, node: &LocalNode, offset: u64) -> Result<u64> {
        let found = fs::seek(node.file()?, SeekFrom::Hole(offset));
        node.named("reading", found.map_err(Into::into))
    }

    fn set_size(&self, node: &LocalNode, size: u64) -> Result<()> {
        node.named("writing", node.file()?.set_len(size))
    }

    fn read_link(&self, node: &LocalNode) -> Result<Vec<u8>> {
        let target = node.named("reading", node.path.local().read_link())?;
        Ok(target.as_os_str().as_bytes().to_vec())
    }

    fn xattrs(&self, node: &LocalNode) -> Result<Vec<Xattr>> {
        let mut names = vec![0; 1 << 16];
        let path = node.path.local();
        let length = match fs::llistxattr(path, &mut names[..]) {
            Err(Errno::OPNOTSUPP) => 0,
            listed => node.named("listing attributes of", listed.map_err(Into::into))?,
        };
        let is_portable = |name: &&[u8]| !OF_THE_HOST.iter().any(|prefix| name.starts_with(prefix));
        let names = names[..length].split(|&byte| byte == 0);
        let names = names.filter(|name| !name.is_empty()).filter(is_portable);
        let value = |name: &[u8]| {
            let mut value = vec![0; 1 << 16];
            let read = fs::lgetxattr(path, name, &mut value[..]);
            value.truncate(node.named("reading attributes of", read.map_err(Into::into))?);
            let name = name.to_vec();
            Ok(Xattr { name, value })
        };
        let mut all = names.map(value).collect::<Result<Vec<_>>>()?;
        all.sort();
        Ok(all)
    }

    fn set_xattr(&self, node: &LocalNode, xattr: &Xattr) -> Result<()> {
        let (path, name) = (node.path.local(), &xattr.name[..]);
        let set = fs::lsetxattr(path, name, &xattr.value, XattrFlags::empty());
        let action = format!("setting attribute {} of", crate::path::escape(name));
        node.named(&action, set.map_err(Into::into))
    }

    fn remove_xattr(&self, node: &LocalNode, name: &[u8]) -> Result<()> {
        match fs::lremovexattr(node.path.local(), name) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => node.named("removing an attribute of", Err(error.into())),
        }
    }

    fn set_owner(&self, node: &LocalNode, of: &NodeMetadata) -> Result<()> {
        let (uid, gid) = (Some(Uid::from_raw(of.uid)), Some(Gid::from_raw(of.gid)));
        let set = fs::chownat(CWD, node.path.local(), uid, gid, AtFlags::SYMLINK_NOFOLLOW);
        node.named("setting the owner of", set.map_err(Into::into))
    }

    fn set_attributes(&self, node: &LocalNode, of: &NodeMetadata) -> Result<()> {
        let path = node.path.local();
        if of.kind != Kind::Symlink {
            let set = fs::chmod(path, Mode::from_raw_mode(u32::from(of.mode)));
            node.named("setting the mode of", set.map_err(Into::into))?;
        }
        let times = Timestamps {
            last_access: timespec(of.accessed),
            last_modification: timespec(of.modified),
        };
        let set = fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
        node.named("setting the times of", set.map_err(Into::into))
    }

    fn synchronize(&self, node: &LocalNode) -> Result<()> {
        node.named("writing", node.file()?.sync_data())
    }

    fn synchronize_all(&self, below: &TreePath) -> Result<()> {
        let opened = fs::open(
            below.local(),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let synchronized = opened.and_then(fs::syncfs);
        named(below, "synchronizing", synchronized.map_err(Into::into))
    }
}

fn timespec(time: Timestamp) -> Timespec {
    Timespec {
        tv_sec: time.seconds,
        tv_nsec: time.nanos.into(),
    }
}
