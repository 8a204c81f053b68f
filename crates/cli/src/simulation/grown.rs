//! The directories that a real cluster has from the start, grown to several buckets by files that
//! are removed again.

use super::real::perform;
use crate::connection::{Connection, RemotePath};
use anyhow::{Context, ensure};
use futago_base::{BucketStart, Errno, FileId, Name};
use futago_client::join_all;
use futago_node::{Cluster, Futago, Options, RecordedClient};
use futago_twin::world::{NameWork, OperationKind, Place, Setup, WideDirectories, directory_name};
use std::{collections::BTreeSet, ffi::OsString};

/// Makes them by a client of its own, so that those of the workload know no more of them than they
/// should.
pub fn make_directories(
    cluster: &Cluster,
    setup: &Setup,
    clients: u32,
    watch: &Connection,
) -> anyhow::Result<()> {
    let maker = Maker {
        futago: Futago::connect(cluster, Options::default())?,
        watch,
        split_entries: setup.protocol.server.split_entries,
    };
    for directory in &setup.directories {
        maker.make(&Name::new(directory.name.clone())?, directory.buckets)?;
    }
    let WideDirectories { each, buckets } = setup.wide;
    for client in 0..clients {
        for number in 0..each {
            maker.make(&directory_name(client, number)?, buckets)?;
        }
    }
    Ok(())
}

/// Lets a client learn all buckets of a directory that has so many: it looks for a name in each.
pub fn learn_buckets(futago: &Futago, directory: FileId, buckets: u64) -> anyhow::Result<()> {
    let level = buckets.ilog2() as u8;
    let mut unknown: BTreeSet<BucketStart> = BucketStart::tiling(level).collect();
    perform(futago, async |client: &RecordedClient| {
        let mut number = 0_u64;
        while !unknown.is_empty() {
            let name = Name::new(format!("nothing.{number}"))?;
            number += 1;
            if unknown.remove(&BucketStart::covering(level, name.hash())) {
                match client.lookup(directory, &name).await {
                    Ok(_) | Err(Errno::ENOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
        }
        Ok(())
    })
}

/// How many files are made or removed at once.
const AT_ONCE: usize = 64;

/// The maker of directories.
struct Maker<'a> {
    futago: Futago,
    watch: &'a Connection,
    /// A bucket with more entries than this splits.
    split_entries: u64,
}

impl Maker<'_> {
    /// Makes an empty directory in the root that has so many buckets, a power of two.
    fn make(&self, name: &Name, buckets: u64) -> anyhow::Result<()> {
        let made = perform(&self.futago, async |client| {
            let made = client.make_directory(FileId::ROOT, name, 0o755, 0, 0);
            made.await
        });
        let directory = made
            .with_context(|| format!("making {name}"))?
            .attributes
            .id;
        if buckets == 1 {
            return Ok(());
        }
        let grown = self.grow(directory, buckets);
        grown.with_context(|| format!("making {name} grow to {buckets} buckets"))?;
        self.check(name, directory, buckets)
    }

    /// Makes files, and removes them. Halves of the buckets wanted have four thirds of the entries
    /// at which they split, on average and but for a deviation of a twentieth; the buckets wanted
    /// have two thirds.
    fn grow(&self, directory: FileId, buckets: u64) -> anyhow::Result<()> {
        let files: Vec<u64> = (0..buckets / 2 * self.split_entries * 4 / 3).collect();
        for kind in [OperationKind::Create, OperationKind::Unlink] {
            for some in files.chunks(AT_ONCE) {
                let works = some.iter().map(|&number| NameWork {
                    kind,
                    place: Place::Own,
                    directory,
                    number,
                    new_number: 0,
                    common: false,
                    file_bytes: 0,
                });
                perform(&self.futago, async |client| {
                    let performed = works.map(|work| work.perform(client, 0, &[]));
                    let performed = join_all(performed).await.into_iter();
                    performed.collect::<Result<(), Errno>>()
                })?;
            }
        }
        Ok(())
    }

    /// Whether it is as wide as it should be.
    fn check(&self, name: &Name, directory: FileId, buckets: u64) -> anyhow::Result<()> {
        let path = RemotePath::from(OsString::from(name.to_string()));
        let level = buckets.ilog2() as u8;
        for bucket in BucketStart::tiling(level) {
            let header = self.watch.header(&path, directory, bucket)?;
            ensure!(
                (header.level, header.entries) == (level, 0),
                "{name} has a bucket of level {} with {} entries and not {buckets} empty ones",
                header.level,
                header.entries
            );
        }
        Ok(())
    }
}
