//! Writes results to a file and reads them back, as with files of the standard library.
//!
//!     cargo run --example results -- CLUSTER-FILE

use futago_base::record::LockKind;
use futago_node::{
    Cluster, Options,
    blocking::{FileSystem, OpenOptions},
};
use std::{
    env,
    error::Error,
    io::{BufRead, BufReader, BufWriter, Seek, Write},
    path::Path,
};

fn main() -> Result<(), Box<dyn Error>> {
    let cluster = env::args_os().nth(1).ok_or("name a cluster file")?;
    let cluster = Cluster::load(Path::new(&cluster))?;
    let files = FileSystem::connect(&cluster, Options::default())?;
    let new = OpenOptions {
        create: true,
        truncate: true,
        mode: 0o644,
        ..OpenOptions::default()
    };
    let mut file = files.open(b"/results", new)?;

    // Nobody else writes meanwhile. Programs on mounts take the same lock with flock.
    file.lock(LockKind::Exclusive)?;
    let mut lines = BufWriter::new(&file);
    for step in 0..1000 {
        writeln!(lines, "{step} {}", step * step)?;
    }
    lines.flush()?;
    drop(lines);
    file.unlock()?;

    file.rewind()?;
    let last = BufReader::new(&file).lines().last();
    writeln!(std::io::stdout(), "{}", last.ok_or("no line")??)?;
    // Here it becomes known if data was lost.
    file.close()?;
    Ok(())
}
