//! A directory by system calls.

use super::target::{File, FileSystem};
use anyhow::{Context, ensure};
use std::{fs, io::Write, os::unix::fs::FileExt, path::PathBuf, sync::Arc};

/// A directory of the operating system.
pub struct Directory(pub PathBuf);

struct OpenFile(fs::File);

impl FileSystem for Directory {
    fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        match fs::create_dir(self.0.join(path)) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            other => other.with_context(|| format!("making {path} in {}", self.0.display())),
        }
    }

    fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()> {
        let file = fs::File::create_new(self.0.join(path));
        let written = file.and_then(|mut file| file.write_all(&contents));
        written.with_context(|| format!("making {path}"))
    }

    fn size(&self, path: &str) -> anyhow::Result<u64> {
        let metadata = fs::metadata(self.0.join(path)).with_context(|| path.to_owned())?;
        ensure!(metadata.is_file(), "{path} is no regular file");
        Ok(metadata.len())
    }

    fn read(&self, path: &str, _: u32) -> anyhow::Result<Vec<u8>> {
        fs::read(self.0.join(path)).with_context(|| format!("reading {path}"))
    }

    fn unlink(&self, path: &str) -> anyhow::Result<()> {
        fs::remove_file(self.0.join(path)).with_context(|| format!("removing {path}"))
    }

    fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        fs::remove_dir(self.0.join(path)).with_context(|| format!("removing {path}"))
    }

    fn open(&self, path: &str, write: bool) -> anyhow::Result<Arc<dyn File>> {
        let mut options = fs::File::options();
        options.read(true).write(write).create(write);
        let file = options
            .open(self.0.join(path))
            .with_context(|| format!("opening {path}"))?;
        Ok(Arc::new(OpenFile(file)))
    }
}

impl File for OpenFile {
    fn write_at(&self, offset: u64, data: Vec<u8>) -> anyhow::Result<()> {
        Ok(self.0.write_all_at(&data, offset)?)
    }

    fn read_at(&self, offset: u64, length: u32) -> anyhow::Result<Vec<u8>> {
        let mut data = vec![0; length as usize];
        let mut filled = 0;
        while filled < data.len() {
            match self
                .0
                .read_at(&mut data[filled..], offset + filled as u64)?
            {
                0 => break,
                count => filled += count,
            }
        }
        data.truncate(filled);
        Ok(data)
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.0.sync_data()?)
    }
}
