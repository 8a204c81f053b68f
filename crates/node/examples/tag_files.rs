//! Tags the files of a directory that have no tag yet, and prints their names.
//!
//!     cargo run --example tag_files -- CLUSTER-FILE DIRECTORY TAG

use futago_base::Kind;
use futago_client::XattrMode;
use futago_node::{Cluster, Options, blocking::FileSystem};
use std::{
    env,
    error::Error,
    io::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

const TAG: &[u8] = b"user.tag";

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args_os().skip(1);
    let cluster = words.next().ok_or("name a cluster file")?;
    let directory = words.next().ok_or("name a directory")?;
    let tag = words.next().ok_or("name a tag")?.into_vec();
    let cluster = Cluster::load(Path::new(&cluster))?;
    let files = FileSystem::connect(&cluster, Options::default())?;

    let mut output = io::stdout().lock();
    for entry in files.open_directory(directory.as_bytes())? {
        let entry = entry?;
        if entry.kind != Kind::File {
            continue;
        }
        let path = [directory.as_bytes(), b"/", &entry.name].concat();
        // Of several programs that tag the same files, one succeeds.
        match files.set_xattr(&path, false, TAG, tag.clone().into(), XattrMode::Create) {
            Err(tagged) if tagged.kind() == io::ErrorKind::AlreadyExists => {}
            result => {
                result?;
                output.write_all(&entry.name)?;
                output.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}
