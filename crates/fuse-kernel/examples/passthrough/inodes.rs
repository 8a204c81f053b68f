//! Nodes that the kernel knows, each pinned by a descriptor.

use futago_fuse_kernel::{Attributes, Entry, Forget, Timestamp, abi};
use rustix::fs::{AtFlags, Mode, OFlags, Statx, StatxFlags, StatxTimestamp, openat, statx};
use rustix::io::{Errno, Result};
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

/// Node ids are inode numbers, except for the root.
pub struct Inodes {
    known: Mutex<HashMap<u64, Node>>,
}

struct Node {
    fd: Arc<OwnedFd>,
    lookups: u64,
}

impl Inodes {
    pub fn new(root: OwnedFd) -> Self {
        let root = Node {
            fd: Arc::new(root),
            lookups: 1,
        };
        Self {
            known: Mutex::new(HashMap::from([(abi::ROOT_NODE, root)])),
        }
    }

    pub fn fd(&self, node: u64) -> Result<Arc<OwnedFd>> {
        let known = self.known.lock().expect("lock");
        known
            .get(&node)
            .map(|node| Arc::clone(&node.fd))
            .ok_or(Errno::STALE)
    }

    /// A path that leads to the node itself, for system calls that take no `O_PATH` descriptor.
    pub fn path(&self, node: u64) -> Result<String> {
        Ok(format!("/proc/self/fd/{}", self.fd(node)?.as_raw_fd()))
    }

    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Entry> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.remember(openat(self.fd(parent)?, name, flags, Mode::empty())?)
    }

    /// Counts a lookup of the inode of `fd`.
    pub fn remember(&self, fd: OwnedFd) -> Result<Entry> {
        let attributes = attributes(&fd)?;
        let mut known = self.known.lock().expect("lock");
        let fresh = || Node {
            fd: Arc::new(fd),
            lookups: 0,
        };
        known.entry(attributes.inode).or_insert_with(fresh).lookups += 1;
        Ok(Entry {
            node: attributes.inode,
            attributes,
            ..Entry::default()
        })
    }

    pub fn forget(&self, nodes: &[Forget]) {
        let mut known = self.known.lock().expect("lock");
        for forget in nodes {
            if let Some(node) = known.get_mut(&forget.node) {
                node.lookups = node.lookups.saturating_sub(forget.lookups);
            }
            known.retain(|&id, node| id == abi::ROOT_NODE || node.lookups > 0);
        }
    }
}

pub fn attributes(fd: impl AsFd) -> Result<Attributes> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat: Statx = statx(fd, "", AtFlags::EMPTY_PATH, mask)?;
    let (major, minor) = (stat.stx_rdev_major, stat.stx_rdev_minor);
    Ok(Attributes {
        inode: stat.stx_ino,
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        atime: timestamp(stat.stx_atime),
        mtime: timestamp(stat.stx_mtime),
        ctime: timestamp(stat.stx_ctime),
        btime: timestamp(stat.stx_btime),
        mode: stat.stx_mode.into(),
        links: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        device: (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12),
        block_size: stat.stx_blksize,
    })
}

fn timestamp(time: StatxTimestamp) -> Timestamp {
    Timestamp {
        seconds: time.tv_sec,
        nanoseconds: time.tv_nsec,
    }
}
