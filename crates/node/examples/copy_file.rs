//! Copies a file with many blocks under way at once.
//!
//!     cargo run --example copy_file -- CLUSTER-FILE SOURCE TARGET

use futago_files::Access;
use futago_node::{
    Cluster, Options,
    asynchronous::File,
    blocking::{FileSystem, OpenOptions},
};
use std::{collections::VecDeque, env, error::Error, io, os::unix::ffi::OsStrExt, path::Path};

const BLOCK_BYTES: u32 = 1 << 20;
const BLOCKS_UNDER_WAY: usize = 16;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args_os().skip(1);
    let cluster = words.next().ok_or("name a cluster file")?;
    let source = words.next().ok_or("name a file")?;
    let target = words.next().ok_or("name the copy")?;
    let cluster = Cluster::load(Path::new(&cluster))?;
    let files = FileSystem::connect(&cluster, Options::default())?;

    let read = OpenOptions {
        access: Access::Read,
        ..OpenOptions::EXISTING
    };
    let new = OpenOptions {
        create: true,
        truncate: true,
        mode: 0o644,
        ..OpenOptions::EXISTING
    };
    let source = files.open_asynchronous(source.as_bytes(), read).await?;
    let target = files.open_asynchronous(target.as_bytes(), new).await?;
    copy(&source, &target).await?;
    // Here it becomes known if data was lost.
    target.synchronize().await?;
    Ok(())
}

/// Reads begin ahead of the writes. A write begins when its block has arrived.
async fn copy(source: &File, target: &File) -> io::Result<()> {
    let size = source.metadata().await?.size;
    let (mut reads, mut writes) = (VecDeque::new(), Vec::new());
    for offset in (0..size).step_by(BLOCK_BYTES as usize) {
        reads.push_back((offset, source.read_at(offset, BLOCK_BYTES)));
        if reads.len() == BLOCKS_UNDER_WAY
            && let Some((offset, read)) = reads.pop_front()
        {
            writes.push(target.write_at(offset, read.await?));
        }
    }
    for (offset, read) in reads {
        writes.push(target.write_at(offset, read.await?));
    }
    for write in writes {
        write.await?;
    }
    Ok(())
}
