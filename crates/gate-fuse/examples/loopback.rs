//! Mounts a cluster that lives in this process's memory, once at every directory given.
//!
//! `loopback SERVERS CHUNK_BYTES DIRECTORY...`; runs until all are unmounted.

#[path = "../tests/loopback/mod.rs"]
mod loopback;

use futago_gate_fuse::{Mounted, Options, mount};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [servers, chunk_bytes, directories @ ..] = &arguments[..] else {
        return Err("usage: loopback SERVERS CHUNK_BYTES DIRECTORY...".into());
    };
    let clients = loopback::start(servers.parse()?, directories.len(), chunk_bytes.parse()?);
    let options = Options::default();
    let mounted: Vec<Mounted> = clients
        .into_iter()
        .zip(directories)
        .map(|(client, directory)| mount(client, Path::new(directory), &options))
        .collect::<Result<_, _>>()?;
    println!("mounted");
    for mount in mounted {
        mount.wait()?;
    }
    Ok(())
}
