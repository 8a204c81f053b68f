//! A directory by system calls.

use super::{
    perform::{Measured, Part, Tally, Which, sum},
    target::{FileSystem, Session, Wanted, block},
};
use anyhow::{Context, anyhow, ensure};
use bytes::Bytes;
use rustix::fs::{Advice, fadvise};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::FileExt,
    path::PathBuf,
    thread,
    time::SystemTime,
};
use xxhash_rust::xxh3::xxh3_64;

/// A directory of the operating system.
pub struct Directory(pub PathBuf);

impl FileSystem for Directory {
    fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        match fs::create_dir(self.0.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other.with_context(|| format!("making {path} in {}", self.0.display())),
        }
    }

    fn unlink(&self, path: &str) -> anyhow::Result<()> {
        fs::remove_file(self.0.join(path)).with_context(|| format!("removing {path}"))
    }

    fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        fs::remove_dir(self.0.join(path)).with_context(|| format!("removing {path}"))
    }

    /// Opened for writing, so that this does not count as a first read.
    fn drop_pages(&self, path: &str) -> anyhow::Result<()> {
        let dropped = || -> io::Result<()> {
            let file = fs::File::options().write(true).open(self.0.join(path))?;
            file.sync_all()?;
            Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
        };
        dropped().with_context(|| format!("dropping the cached pages of {path}"))
    }

    /// A system call blocks its thread, so each operation under way has its own.
    fn perform(&self, part: &Part<'_>, in_flight: u32) -> Measured {
        let file = block(part.open(self))?;
        let lane = |lane| {
            let (which, tally) = (
                Which {
                    lane,
                    lanes: in_flight,
                },
                Tally::default(),
            );
            block(part.lane(self, file.as_ref(), which, &tally)).map(|()| tally.into_sums())
        };
        let results = thread::scope(|scope| {
            let others: Vec<_> = (1..in_flight)
                .map(|number| scope.spawn(move || lane(number)))
                .collect();
            let first = lane(0);
            let panicked = |_| Err(anyhow!("a thread has panicked"));
            let others = others.into_iter();
            let others = others.map(|thread| thread.join().unwrap_or_else(panicked));
            std::iter::once(first).chain(others).collect()
        });
        let ended = block(part.end(self, file));
        let measured = sum(results)?;
        ended.map(|()| measured)
    }
}

impl Session for Directory {
    type File = fs::File;

    async fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()> {
        let file = fs::File::create_new(self.0.join(path));
        let written = file.and_then(|mut file| file.write_all(&contents));
        written.with_context(|| format!("making {path}"))
    }

    async fn size(&self, path: &str) -> anyhow::Result<u64> {
        let metadata = fs::metadata(self.0.join(path)).with_context(|| path.to_owned())?;
        ensure!(metadata.is_file(), "{path} is no regular file");
        Ok(metadata.len())
    }

    async fn read(&self, path: &str, _: u32) -> anyhow::Result<Bytes> {
        let data = fs::read(self.0.join(path));
        data.map(Bytes::from)
            .with_context(|| format!("reading {path}"))
    }

    async fn unlink(&self, path: &str) -> anyhow::Result<()> {
        FileSystem::unlink(self, path)
    }

    async fn open(&self, path: &str, write: bool) -> anyhow::Result<fs::File> {
        let mut options = fs::File::options();
        options.read(true).write(write).create(write);
        let file = options.open(self.0.join(path));
        file.with_context(|| format!("opening {path}"))
    }

    async fn write_at(&self, file: &fs::File, offset: u64, data: Bytes) -> anyhow::Result<()> {
        Ok(file.write_all_at(&data, offset)?)
    }

    async fn read_at(&self, file: &fs::File, offset: u64, length: u32) -> anyhow::Result<Bytes> {
        let mut data = vec![0; length as usize];
        let mut filled = 0;
        while filled < data.len() {
            match file.read_at(&mut data[filled..], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        data.truncate(filled);
        Ok(data.into())
    }

    async fn flush(&self, file: &fs::File) -> anyhow::Result<()> {
        Ok(file.sync_data()?)
    }

    async fn close(&self, file: fs::File) -> anyhow::Result<()> {
        drop(file);
        Ok(())
    }

    async fn find(&self, root: &str, wanted: &Wanted<'_>) -> anyhow::Result<u64> {
        let newer_than = fs::metadata(self.0.join(wanted.newer_than))?.modified()?;
        let mut directories = vec![self.0.join(root)];
        let mut found = 0;
        while let Some(directory) = directories.pop() {
            let entries = fs::read_dir(&directory);
            let entries = entries.with_context(|| format!("reading {}", directory.display()))?;
            for entry in entries {
                let entry = entry?;
                let share = xxh3_64(entry.file_name().as_encoded_bytes()) % u64::from(wanted.ranks);
                if entry.file_type()?.is_dir() {
                    directories.push(entry.path());
                } else if share == u64::from(wanted.rank) {
                    found += u64::from(is_wanted(&entry, wanted, newer_than)?);
                }
            }
        }
        Ok(found)
    }
}

/// Asks for the attributes of every file, as the search of the rules does.
fn is_wanted(
    entry: &fs::DirEntry,
    wanted: &Wanted<'_>,
    newer_than: SystemTime,
) -> anyhow::Result<bool> {
    let metadata = entry.metadata();
    let metadata = metadata.with_context(|| entry.path().display().to_string())?;
    let name = entry.file_name();
    Ok(metadata.len() == wanted.size_bytes
        && metadata.modified()? > newer_than
        && name.to_string_lossy().contains(wanted.name_part))
}
