//! Copies between files of a cluster and what has no name or no size.

use super::Transfer;
use crate::connection::{Connection, RemotePath};
use futago_base::Attributes;
use futago_staging::{ClusterTree, Counts, Tree};
use rustix::event::{PollFd, PollFlags};
use std::{
    hash::{BuildHasher, RandomState},
    io::{Read, Write},
    os::fd::AsFd,
};

/// The most bytes that one read or write copies.
const BLOCK_BYTES: usize = 1 << 20;

/// Copies a stream to its end, under a temporary name at first.
///
/// # Errors
/// If a read or a write fails.
pub fn put_stream(
    transfer: &Transfer<'_>,
    source: impl Read + AsFd,
    target: &RemotePath,
) -> anyhow::Result<Counts> {
    let tree = ClusterTree::connect(transfer.cluster)?;
    let drawn = RandomState::new().hash_one(std::process::id());
    let name = format!(".futago-put-{drawn:016x}");
    let temporary = target
        .parent()
        .unwrap_or_else(RemotePath::root)
        .join(name.as_bytes());
    let copied = fill(transfer, &tree, source, &temporary).and_then(|bytes| {
        tree.rename(&temporary, target)
            .map(|()| bytes)
            .map_err(Into::into)
    });
    let bytes = copied.inspect_err(|_| {
        // The failure to report is the first one.
        let _ = tree.remove(&temporary);
    })?;
    Ok(Counts {
        files: 1,
        bytes,
        ..Counts::default()
    })
}

/// Writes a stream to a new file, and returns the number of bytes.
fn fill(
    transfer: &Transfer<'_>,
    tree: &ClusterTree,
    mut source: impl Read + AsFd,
    temporary: &RemotePath,
) -> anyhow::Result<u64> {
    let file = tree.create_file(temporary)?;
    let mut offset = 0;
    loop {
        let data = read_block(transfer, &mut source)?;
        let length = data.len() as u64;
        if length == 0 {
            return Ok(offset);
        }
        tree.write(&file, offset, data.into())?;
        offset += length;
    }
}

/// Reads [`BLOCK_BYTES`], or less at the end of the stream.
fn read_block(transfer: &Transfer<'_>, source: &mut (impl Read + AsFd)) -> anyhow::Result<Vec<u8>> {
    let mut data = vec![0; BLOCK_BYTES];
    let mut length = 0;
    while length < data.len() {
        wait_readable(transfer, source)?;
        match source.read(&mut data[length..])? {
            0 => break,
            read => length += read,
        }
    }
    data.truncate(length);
    Ok(data)
}

/// Waits for input. A signal ends the wait, while a read would go on.
fn wait_readable(transfer: &Transfer<'_>, source: &impl AsFd) -> anyhow::Result<()> {
    loop {
        transfer.ensure_uninterrupted()?;
        let mut input = [PollFd::new(source, PollFlags::IN)];
        match rustix::event::poll(&mut input, None) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return Ok(polled.map(drop)?),
        }
    }
}

/// Writes a file's data to a device or a pipe.
///
/// # Errors
/// If it cannot be read or written.
pub fn get_into(
    transfer: &Transfer<'_>,
    connection: &Connection,
    source: &RemotePath,
    file: &Attributes,
    mut target: impl Write,
) -> anyhow::Result<Counts> {
    let mut bytes = 0;
    connection.read_all(source, file, |data| {
        target.write_all(data)?;
        bytes += data.len() as u64;
        transfer.ensure_uninterrupted()
    })?;
    Ok(Counts {
        files: 1,
        bytes,
        ..Counts::default()
    })
}
