//! Copies trees from a cluster to a local file system.

use super::{BUFFER_BYTES, Transfer, local};
use crate::connection::{Connection, RemotePath};
use anyhow::{Context, bail, ensure};
use futago_base::{Attributes, FileId, Kind};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, FileExt, MetadataExt, symlink},
    },
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A running copy from a cluster.
pub struct Download<'a> {
    connection: &'a Connection,
    /// The running copy as a whole.
    pub transfer: &'a mut Transfer,
    /// Local path of each copied file that has several names.
    linked: HashMap<FileId, PathBuf>,
}

impl<'a> Download<'a> {
    /// A copy that has not begun.
    pub fn new(connection: &'a Connection, transfer: &'a mut Transfer) -> Self {
        Self {
            connection,
            transfer,
            linked: HashMap::new(),
        }
    }

    /// Copies a file, or a directory with everything in it.
    ///
    /// # Errors
    /// Name the file. A failed entry of a directory is reported and does not stop the others.
    pub fn get(
        &mut self,
        source: &RemotePath,
        file: &Attributes,
        target: &Path,
    ) -> anyhow::Result<()> {
        self.transfer.ensure_uninterrupted()?;
        match file.kind {
            Kind::Directory => self.get_directory(source, file, target),
            Kind::Symlink => self.get_symlink(source, file, target),
            Kind::File => self.get_file(source, file, target),
            kind => bail!("{source} is a {kind:?} and is not copied"),
        }
    }

    /// Writes a file's data to a device or a pipe.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn get_into(
        &mut self,
        source: &RemotePath,
        file: &Attributes,
        mut target: impl Write,
    ) -> anyhow::Result<()> {
        self.connection.read_all(source, file, |data| {
            target.write_all(data)?;
            self.transfer.copied.bytes += data.len() as u64;
            self.transfer.advance(data.len() as u64);
            self.transfer.ensure_uninterrupted()
        })?;
        self.transfer.copied.files += 1;
        Ok(())
    }

    fn get_directory(
        &mut self,
        source: &RemotePath,
        directory: &Attributes,
        target: &Path,
    ) -> anyhow::Result<()> {
        if !target.is_dir() {
            // The final mode may forbid the copy to write into it.
            let made = fs::DirBuilder::new().mode(0o700).create(target);
            made.with_context(|| format!("making {}", target.display()))?;
        }
        self.transfer.copied.directories += 1;
        let connection = self.connection;
        connection.each_entry(source, directory.id, |entry| {
            let name = entry.name.as_bytes();
            let (path, below) = (source.join(name), target.join(OsStr::from_bytes(name)));
            let got = match connection.listed(&path, directory.id, entry) {
                Ok(Some(attributes)) => self.get(&path, &attributes, &below),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            self.transfer.failures.go_on(got)
        })?;
        self.set_attributes(directory, target)
    }

    fn get_symlink(
        &mut self,
        source: &RemotePath,
        link: &Attributes,
        target: &Path,
    ) -> anyhow::Result<()> {
        let leads_to = self.connection.read_link(source, link.id)?;
        let leads_to = OsStr::from_bytes(&leads_to);
        let made = temporary(target, |path| symlink(leads_to, path))?;
        local::set_attributes(made.path(), link, &[])?;
        give_name(made, target)?;
        self.transfer.copied.symlinks += 1;
        Ok(())
    }

    fn get_file(
        &mut self,
        source: &RemotePath,
        file: &Attributes,
        target: &Path,
    ) -> anyhow::Result<()> {
        if let Some(first) = self.linked.get(&file.id) {
            get_further_name(first, target)?;
        } else {
            let made = temporary(target, |path| File::create_new(path))?;
            self.copy_data(source, file, made.as_file())
                .with_context(|| format!("writing {}", target.display()))?;
            self.set_attributes(file, made.path())?;
            give_name(made, target)?;
            if file.links > 1 {
                self.linked.insert(file.id, target.to_owned());
            }
        }
        self.transfer.copied.files += 1;
        Ok(())
    }

    /// Copies data and leaves holes out.
    fn copy_data(
        &mut self,
        source: &RemotePath,
        file: &Attributes,
        target: &File,
    ) -> anyhow::Result<()> {
        target.set_len(file.size)?;
        let mut end = 0;
        while let Some(begin) = self.connection.next_data(source, file.id, end)? {
            self.transfer.advance(begin - end);
            end = self.connection.next_hole(source, file.id, begin)?;
            self.copy_range(source, file.id, begin..end, target)?;
        }
        self.transfer.advance(file.size.saturating_sub(end));
        Ok(())
    }

    fn copy_range(
        &mut self,
        source: &RemotePath,
        id: FileId,
        range: std::ops::Range<u64>,
        target: &File,
    ) -> anyhow::Result<()> {
        let mut offset = range.start;
        while offset < range.end {
            self.transfer.ensure_uninterrupted()?;
            let length = BUFFER_BYTES.min(range.end - offset) as u32;
            let data = self.connection.read(source, id, offset, length)?;
            if data.is_empty() {
                // Another client truncated the file meanwhile.
                return Ok(());
            }
            target.write_all_at(&data, offset)?;
            offset += data.len() as u64;
            self.transfer.copied.bytes += data.len() as u64;
            self.transfer.advance(data.len() as u64);
        }
        Ok(())
    }

    fn set_attributes(&self, of: &Attributes, target: &Path) -> anyhow::Result<()> {
        let xattrs = self.connection.xattrs(of.id)?;
        local::set_attributes(target, of, &xattrs)
    }
}

/// Links a further name to a file that was copied before.
fn get_further_name(first: &Path, target: &Path) -> anyhow::Result<()> {
    // A rename to another name of the same file would leave the temporary name.
    if is_same_file(first, target)? {
        return Ok(());
    }
    let made = temporary(target, |path| fs::hard_link(first, path))?;
    give_name(made, target)
}

fn is_same_file(one: &Path, other: &Path) -> anyhow::Result<bool> {
    let one = fs::symlink_metadata(one)?;
    Ok(fs::symlink_metadata(other)
        .is_ok_and(|other| (one.dev(), one.ino()) == (other.dev(), other.ino())))
}

/// Makes a temporary file in the directory of `target`. Dropping it removes it.
fn temporary<T>(
    target: &Path,
    make: impl FnMut(&Path) -> io::Result<T>,
) -> anyhow::Result<NamedTempFile<T>> {
    let directory = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    let made = builder.prefix(".futago-get-").make_in(directory, make);
    made.with_context(|| format!("making a file in {}", directory.display()))
}

/// Renames a temporary file to its final name.
fn give_name<T>(made: NamedTempFile<T>, target: &Path) -> anyhow::Result<()> {
    ensure!(
        !target.is_dir() || target.is_symlink(),
        "{} is a directory",
        target.display()
    );
    let named = made.persist(target).map_err(|error| error.error);
    named.with_context(|| format!("naming {}", target.display()))?;
    Ok(())
}
