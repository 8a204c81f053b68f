//! Random trees.

use futago_staging::TreePath;
use proptest::prelude::*;
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};
use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// A node of a random tree.
#[derive(Clone, Debug)]
pub enum Planted {
    /// A file with data at offsets, of a size.
    File {
        data: Vec<(u64, Vec<u8>)>,
        size: u64,
    },
    Directory,
    Symlink(Vec<u8>),
    Fifo,
    /// A further name of the file with this number, counted around.
    Link(usize),
}

/// A node with its name and its attributes.
#[derive(Clone, Debug)]
pub struct Node {
    /// The directory with this number, counted around.
    pub directory: usize,
    pub name: Vec<u8>,
    pub node: Planted,
    pub mode: u32,
    pub seconds: i64,
    pub nanos: u32,
    pub xattr: Option<Vec<u8>>,
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("not in names", |byte| !matches!(byte, 0 | b'/'));
    let name = prop::collection::vec(byte, 1..12);
    name.prop_filter("reserved", |name| name != b"." && name != b"..")
}

fn planted() -> impl Strategy<Value = Planted> {
    let piece = (0..200_000_u64, prop::collection::vec(any::<u8>(), 1..5000));
    prop_oneof![
        4 => (prop::collection::vec(piece, 0..3), 0..300_000_u64)
            .prop_map(|(data, size)| Planted::File { data, size }),
        2 => Just(Planted::Directory),
        1 => prop::collection::vec(1..=255_u8, 1..40).prop_map(Planted::Symlink),
        1 => Just(Planted::Fifo),
        1 => any::<usize>().prop_map(Planted::Link),
    ]
}

/// A random tree.
pub fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let mode = prop_oneof![
        Just(0o644),
        Just(0o500),
        Just(0o4751),
        Just(0o000),
        Just(0o700)
    ];
    let xattr = prop::option::of(prop::collection::vec(any::<u8>(), 0..20));
    let time = (-1_000_000_000..2_000_000_000_i64, 0..1_000_000_000_u32);
    let node = (any::<usize>(), name(), planted(), mode, time, xattr);
    let node = node.prop_map(
        |(directory, name, node, mode, (seconds, nanos), xattr)| Node {
            directory,
            name,
            node,
            mode,
            seconds,
            nanos,
            xattr,
        },
    );
    prop::collection::vec(node, 0..24)
}

/// Makes a tree in an empty directory.
pub fn plant(root: &Path, nodes: &[Node]) {
    let mut directories = vec![root.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    let mut made = Vec::new();
    for node in nodes {
        let parent = TreePath::from(&*directories[node.directory % directories.len()]);
        let path = parent.join(&node.name).local().to_owned();
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match &node.node {
            Planted::File { data, size } => {
                let file = File::create_new(&path).unwrap();
                file.set_len(*size).unwrap();
                for (offset, data) in data {
                    file.write_all_at(data, *offset).unwrap();
                }
                files.push(path.clone());
            }
            Planted::Directory => {
                fs::create_dir(&path).unwrap();
                directories.push(path.clone());
            }
            Planted::Symlink(target) => {
                let target: &std::ffi::OsStr =
                    std::os::unix::ffi::OsStrExt::from_bytes(&target[..]);
                symlink(target, &path).unwrap();
            }
            Planted::Fifo => {
                rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
            }
            Planted::Link(number) if !files.is_empty() => {
                fs::hard_link(&files[number % files.len()], &path).unwrap();
                continue;
            }
            Planted::Link(_) => continue,
        }
        made.push((path, node));
    }
    made.iter().rev().for_each(|(path, node)| dress(path, node));
}

/// Sets the attributes of a node.
fn dress(path: &Path, node: &Node) {
    let is_symlink = matches!(node.node, Planted::Symlink(_));
    if !is_symlink {
        if let (Some(value), Planted::File { .. } | Planted::Directory) = (&node.xattr, &node.node)
        {
            let _ = rustix::fs::lsetxattr(path, "user.colour", value, XattrFlags::empty());
        }
        // The tests may run as a user who needs to read and to enter.
        let needed = if path.is_dir() { 0o500 } else { 0o400 };
        let mode = fs::Permissions::from_mode(node.mode | needed);
        fs::set_permissions(path, mode).unwrap();
    }
    let time = Timespec {
        tv_sec: node.seconds,
        tv_nsec: node.nanos.into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}
