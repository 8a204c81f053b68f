//! Sizes and offsets against the kernel's header, as numbers that a reader can check.

use super::{input::*, output::*};
use std::mem::offset_of;

#[test]
fn requests_have_the_kernels_sizes() {
    let sizes = [
        (size_of::<InHeader>(), 40),
        (size_of::<InitIn>() + size_of::<InitInExtension>(), 64),
        (size_of::<ForgetIn>(), 8),
        (size_of::<ForgetOne>(), 16),
        (size_of::<BatchForgetIn>(), 8),
        (size_of::<GetAttrIn>(), 16),
        (size_of::<StatxIn>(), 24),
        (size_of::<MknodIn>(), 16),
        (size_of::<MkdirIn>(), 8),
        (size_of::<RenameIn>(), 8),
        (size_of::<Rename2In>(), 16),
        (size_of::<LinkIn>(), 8),
        (size_of::<SetAttrIn>(), 88),
        (size_of::<OpenIn>(), 8),
        (size_of::<CreateIn>(), 16),
        (size_of::<ReleaseIn>(), 24),
        (size_of::<FlushIn>(), 24),
        (size_of::<ReadIn>(), 40),
        (size_of::<WriteIn>(), 40),
        (size_of::<FsyncIn>(), 16),
        (size_of::<SetXattrIn>(), 8),
        (size_of::<SetXattrInExtension>(), 8),
        (size_of::<GetXattrIn>(), 8),
        (size_of::<LkIn>(), 48),
        (size_of::<AccessIn>(), 8),
        (size_of::<InterruptIn>(), 8),
        (size_of::<BmapIn>(), 16),
        (size_of::<IoctlIn>(), 32),
        (size_of::<PollIn>(), 24),
        (size_of::<FallocateIn>(), 32),
        (size_of::<LseekIn>(), 24),
        (size_of::<CopyFileRangeIn>(), 56),
    ];
    for (index, (ours, kernel)) in sizes.into_iter().enumerate() {
        assert_eq!(ours, kernel, "record {index}");
    }
}

#[test]
fn answers_have_the_kernels_sizes() {
    let sizes = [
        (size_of::<OutHeader>(), 16),
        (size_of::<InitOut>(), 64),
        (size_of::<Attr>(), 88),
        (size_of::<EntryOut>(), 128),
        (size_of::<AttrOut>(), 104),
        (size_of::<StatxTime>(), 16),
        (size_of::<Statx>(), 256),
        (size_of::<StatxOut>(), 288),
        (size_of::<OpenOut>(), 16),
        (size_of::<CreateOut>(), 144),
        (size_of::<WriteOut>(), 8),
        (size_of::<CopyFileRangeOut>(), 8),
        (size_of::<StatfsOut>(), 80),
        (size_of::<GetXattrOut>(), 8),
        (size_of::<LkOut>(), 24),
        (size_of::<BmapOut>(), 8),
        (size_of::<PollOut>(), 8),
        (size_of::<LseekOut>(), 8),
        (size_of::<Dirent>(), 24),
        (size_of::<NotifyInvalInode>(), 24),
        (size_of::<NotifyInvalEntry>(), 16),
        (size_of::<NotifyDelete>(), 24),
    ];
    for (index, (ours, kernel)) in sizes.into_iter().enumerate() {
        assert_eq!(ours, kernel, "record {index}");
    }
}

#[test]
fn fields_are_where_the_kernel_puts_them() {
    assert_eq!(offset_of!(InHeader, nodeid), 16);
    assert_eq!(offset_of!(InHeader, total_extlen), 36);
    assert_eq!(offset_of!(SetAttrIn, atimensec), 56);
    assert_eq!(offset_of!(SetAttrIn, uid), 76);
    assert_eq!(offset_of!(WriteIn, flags), 32);
    assert_eq!(offset_of!(LkIn, lk_flags), 40);
    assert_eq!(offset_of!(InitOut, max_write), 20);
    assert_eq!(offset_of!(InitOut, max_pages), 28);
    assert_eq!(offset_of!(InitOut, flags2), 32);
    assert_eq!(offset_of!(InitOut, request_timeout), 40);
    assert_eq!(offset_of!(Attr, atimensec), 48);
    assert_eq!(offset_of!(Attr, blksize), 80);
    assert_eq!(offset_of!(EntryOut, attr), 40);
    assert_eq!(offset_of!(Statx, ino), 32);
    assert_eq!(offset_of!(Statx, btime), 80);
    assert_eq!(offset_of!(Statx, rdev_major), 128);
    assert_eq!(offset_of!(StatxOut, stat), 32);
    assert_eq!(offset_of!(StatfsOut, bsize), 40);
}
