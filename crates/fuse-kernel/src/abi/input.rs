//! Records that the kernel sends.

#![allow(missing_docs)] // The fields are the kernel's; `crate::Operation` explains each.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Declares records that can be read from, and for tests written to, raw bytes.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name { $(pub $field: $type),* }
    )*};
}

records! {
    /// The header of every request. `total_extlen` counts 8-byte units at the request's end.
    InHeader {
        len: u32, opcode: u32, unique: u64, nodeid: u64, uid: u32, gid: u32, pid: u32,
        total_extlen: u16, padding: u16,
    }
    InitIn { major: u32, minor: u32, max_readahead: u32, flags: u32 }
    /// Follows `InitIn` when the kernel sets `InitFlags::INIT_EXT`.
    InitInExtension { flags2: u32, unused: [u32; 11] }
    ForgetIn { nlookup: u64 }
    ForgetOne { nodeid: u64, nlookup: u64 }
    BatchForgetIn { count: u32, dummy: u32 }
    GetAttrIn { flags: u32, dummy: u32, fh: u64 }
    StatxIn { getattr_flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32 }
    MknodIn { mode: u32, rdev: u32, umask: u32, padding: u32 }
    MkdirIn { mode: u32, umask: u32 }
    RenameIn { newdir: u64 }
    Rename2In { newdir: u64, flags: u32, padding: u32 }
    LinkIn { oldnodeid: u64 }
    SetAttrIn {
        valid: u32, padding: u32, fh: u64, size: u64, lock_owner: u64, atime: u64, mtime: u64,
        ctime: u64, atimensec: u32, mtimensec: u32, ctimensec: u32, mode: u32, unused4: u32,
        uid: u32, gid: u32, unused5: u32,
    }
    OpenIn { flags: u32, open_flags: u32 }
    CreateIn { flags: u32, mode: u32, umask: u32, open_flags: u32 }
    ReleaseIn { fh: u64, flags: u32, release_flags: u32, lock_owner: u64 }
    FlushIn { fh: u64, unused: u32, padding: u32, lock_owner: u64 }
    ReadIn {
        fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32,
        padding: u32,
    }
    WriteIn {
        fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32,
        padding: u32,
    }
    FsyncIn { fh: u64, fsync_flags: u32, padding: u32 }
    SetXattrIn { size: u32, flags: u32 }
    /// Follows `SetXattrIn` if `InitFlags::SETXATTR_EXT` is in force.
    SetXattrInExtension { setxattr_flags: u32, padding: u32 }
    GetXattrIn { size: u32, padding: u32 }
    LkIn {
        fh: u64, owner: u64, start: u64, end: u64, kind: u32, pid: u32, lk_flags: u32,
        padding: u32,
    }
    AccessIn { mask: u32, padding: u32 }
    InterruptIn { unique: u64 }
    BmapIn { block: u64, blocksize: u32, padding: u32 }
    IoctlIn { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32 }
    PollIn { fh: u64, kh: u64, flags: u32, events: u32 }
    FallocateIn { fh: u64, offset: u64, length: u64, mode: u32, padding: u32 }
    LseekIn { fh: u64, offset: u64, whence: u32, padding: u32 }
    CopyFileRangeIn {
        fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64,
    }
}
