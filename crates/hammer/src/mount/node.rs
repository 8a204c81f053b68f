//! Attributes and extended attributes.

use super::{Mount, observation};
use crate::journal::Journal;
use futago_base::{Attributes, FileId, Kind, Timestamp, XattrName};
use futago_client::XattrMode;
use futago_twin::model::{Observed, Operation, Outcome};
use futago_wire::FileState;
use rustix::fs::{self, AtFlags, FileType, Mode, StatxFlags, StatxTimestamp, XattrFlags};
use rustix::io::{self, Errno};

impl Mount {
    /// Performs an operation on attributes.
    pub(super) fn attributes(
        &self,
        operation: &Operation,
        journal: &mut Journal,
    ) -> Option<Observed> {
        use Operation as O;
        let able = match operation {
            // A mount accepts new attributes of removed directories, which the reference does not.
            O::SetMode { id, .. } => self.nodes.get(id).is_none_or(|n| n.0 != Kind::Directory),
            O::Attributes(_)
            | O::GetXattr { .. }
            | O::SetXattr { .. }
            | O::ListXattrs(_)
            | O::RemoveXattr { .. } => true,
            // The kernel knows which nodes are not symbolic links.
            O::ReadLink(id) => self.nodes.get(id).is_some_and(|n| n.0 == Kind::Symlink),
            _ => false,
        };
        if !able {
            return None;
        }
        journal.observe(operation, || self.ask(operation), observation)
    }

    fn ask(&self, operation: &Operation) -> io::Result<Outcome> {
        use Operation as O;
        match operation {
            O::Attributes(id) => self.stat(*id),
            O::SetMode { id, mode } => {
                fs::chmod(self.path(*id)?, Mode::from_raw_mode((*mode).into()))?;
                Ok(Outcome::Done)
            }
            O::ReadLink(id) => {
                let target = fs::readlinkat(self.node(*id)?, "", Vec::new())?;
                Ok(Outcome::Bytes(target.into_bytes().into()))
            }
            O::GetXattr { id, name } => {
                let mut value = vec![0; 64];
                let bytes = fs::getxattr(self.path(*id)?, name.as_bytes(), &mut value[..])?;
                value.truncate(bytes);
                Ok(Outcome::Bytes(value.into()))
            }
            O::SetXattr {
                id,
                name,
                mode,
                tag,
            } => {
                let flags = match mode {
                    XattrMode::Create => XattrFlags::CREATE,
                    XattrMode::Replace => XattrFlags::REPLACE,
                    XattrMode::Set => XattrFlags::empty(),
                };
                fs::setxattr(self.path(*id)?, name.as_bytes(), &[*tag; 5], flags)?;
                Ok(Outcome::Done)
            }
            O::ListXattrs(id) => self.list_xattrs(*id),
            O::RemoveXattr { id, name } => {
                fs::removexattr(self.path(*id)?, name.as_bytes())?;
                Ok(Outcome::Done)
            }
            _ => Err(Errno::NOSYS),
        }
    }

    /// The result of `stat`. A mount shows a removed directory without links as long as its kernel
    /// knows it; it does not exist in the reference then.
    pub(super) fn stat(&self, id: FileId) -> io::Result<Outcome> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let seen = fs::statx(self.node(id)?, "", AtFlags::EMPTY_PATH, wanted)?;
        let attributes = Attributes {
            id: FileId(seen.stx_ino),
            kind: kind(seen.stx_mode),
            mode: seen.stx_mode & 0o7777,
            uid: seen.stx_uid,
            gid: seen.stx_gid,
            links: seen.stx_nlink,
            size: seen.stx_size,
            device: 0,
            accessed: time(&seen.stx_atime),
            modified: time(&seen.stx_mtime),
            changed: time(&seen.stx_ctime),
            born: time(&seen.stx_btime),
            chunk_bytes: seen.stx_blksize,
            allocated_bytes: Some(seen.stx_blocks * 512),
        };
        if attributes.kind == Kind::Directory && attributes.links == 0 {
            return Err(Errno::STALE);
        }
        let directory = None;
        Ok(Outcome::File(
            FileState {
                attributes,
                directory,
                leased: false,
                data_leased: false,
                exclusive: false,
            },
            false,
        ))
    }

    fn list_xattrs(&self, id: FileId) -> io::Result<Outcome> {
        let mut list = vec![0; 1024];
        let bytes = fs::listxattr(self.path(id)?, &mut list[..])?;
        let names = list[..bytes].split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty());
        let names = names.map(|name| XattrName::new(name.to_vec()).map_err(|_| Errno::ILSEQ));
        Ok(Outcome::Names(names.collect::<io::Result<_>>()?))
    }
}

fn time(seen: &StatxTimestamp) -> Timestamp {
    Timestamp {
        seconds: seen.tv_sec,
        nanos: seen.tv_nsec,
    }
}

/// The kind in `st_mode`.
pub(super) fn kind(mode: u16) -> Kind {
    kind_of(FileType::from_raw_mode(mode.into()))
}

/// The kind as a [`Kind`].
pub(super) const fn kind_of(seen: FileType) -> Kind {
    match seen {
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharacterDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        _ => Kind::File,
    }
}
