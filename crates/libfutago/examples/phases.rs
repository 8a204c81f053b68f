//! The phases of `tests/c-speed/phases.c` through the Rust library. The C libraries are measured
//! against it.
//!
//!     FUTAGO_CLUSTER=c.toml cargo run --release --example phases -- [unbuffered]

use bytes::Bytes;
use futago_node::{
    Cluster, Options,
    blocking::{FileSystem, OpenOptions},
};
use std::{
    env,
    error::Error,
    io::{self, Write},
    path::Path,
    time::Instant,
};

const FILES: u32 = 5000;
const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

fn main() -> Result<(), Box<dyn Error>> {
    let cluster = env::var_os("FUTAGO_CLUSTER").ok_or("FUTAGO_CLUSTER names no cluster file")?;
    let mut options = Options {
        leases: true,
        ..Options::default()
    };
    if env::args().nth(1).as_deref() == Some("unbuffered") {
        options.client.dirty_bytes_max = 0;
    }
    let files = FileSystem::connect(&Cluster::load(Path::new(&cluster))?, options)?;
    names(&files)?;
    data(&files, "1MiB", 1 << 20, 256)?;
    data(&files, "47008B", 47_008, 4000)?;
    Ok(())
}

/// Runs a phase of so many operations and prints how many there are in a second.
fn phase(name: &str, operations: u32, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let begin = Instant::now();
    work()?;
    let rate = f64::from(operations) / begin.elapsed().as_secs_f64();
    writeln!(io::stdout(), "{name} {rate:.1}")
}

fn names(files: &FileSystem) -> io::Result<()> {
    let path = |number| format!("/phase.{number}").into_bytes();
    phase("create", FILES, || {
        (0..FILES).try_for_each(|number| files.open(&path(number), NEW)?.close())
    })?;
    phase("stat", FILES, || {
        (0..FILES).try_for_each(|number| files.metadata(&path(number), true).map(drop))
    })?;
    phase("unlink", FILES, || {
        (0..FILES).try_for_each(|number| files.remove_file(&path(number)))
    })
}

fn data(files: &FileSystem, name: &str, size: u32, count: u32) -> io::Result<()> {
    let file = files.open(b"/phase", NEW)?;
    let block = Bytes::from(vec![b'x'; size as usize]);
    let offset = |number| u64::from(number) * u64::from(size);
    phase(&format!("write-{name}"), count, || {
        (0..count).try_for_each(|number| file.write_at(offset(number), block.clone()))?;
        file.synchronize()
    })?;
    phase(&format!("read-{name}"), count, || {
        (0..count).try_for_each(|number| match file.read_at(offset(number), size)?.len() {
            length if length == size as usize => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        })
    })?;
    file.close()?;
    files.remove_file(b"/phase")
}
