//! Names: directories made and removed, files removed, renamed and linked.

use super::{FileSystem, at_path};
use bytes::Bytes;
use futago_base::{Attributes, Errno, Kind, Payload};
use futago_client::{CreateFlags, RenameFlags};
use futago_files::Credentials;
use futago_wire::NewContent;
use std::io;

impl FileSystem {
    /// Creates a directory.
    ///
    /// # Errors
    /// Those of `mkdir`.
    pub fn create_directory(&self, path: &[u8], mode: u16) -> io::Result<()> {
        let Credentials { uid, gid } = self.caller;
        let mode = mode & !self.umask;
        self.run(async |client| {
            let place = client.locate(path).await?;
            client
                .make_directory(place.directory, &place.name, mode, uid, gid)
                .await?;
            Ok(())
        })
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// Those of `unlink`.
    pub fn remove_file(&self, path: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.check_slash(&place).await?;
            client.unlink(place.directory, &place.name).await
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of `rmdir`.
    pub fn remove_directory(&self, path: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.remove_directory(place.directory, &place.name).await
        })
    }

    /// Renames.
    ///
    /// # Errors
    /// Those of `rename`.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let (mut from, to) = (client.locate(from).await?, client.locate(to).await?);
            from.must_be_directory |= to.must_be_directory;
            client.check_slash(&from).await?;
            let flags = RenameFlags::default();
            client
                .rename(from.directory, &from.name, to.directory, &to.name, flags)
                .await
        })
    }

    /// Gives a file another name. A symbolic link at the end of its path is not followed.
    ///
    /// # Errors
    /// Those of `link`.
    pub fn link(&self, path: &[u8], new: &[u8]) -> io::Result<()> {
        self.run(async |client| {
            let place = client.locate(new).await?;
            client.check_slash(&place).await?;
            let (directory, name) = (place.directory, &place.name);
            let link = async |found: Attributes| client.link(found.id, directory, name).await;
            at_path(client, path, false, link).await.map(drop)
        })
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// Those of `symlink`.
    pub fn symlink(&self, target: &[u8], path: &[u8]) -> io::Result<()> {
        let target = Bytes::copy_from_slice(target);
        let node = self.caller.new_node(NewContent::Symlink(target), 0o777);
        self.run(async |client| {
            let place = client.locate(path).await?;
            client.check_slash(&place).await?;
            let (directory, name) = (place.directory, &place.name);
            let (flags, data) = (CreateFlags::EXCLUSIVE, Payload::empty());
            client.create(directory, name, node, flags, data).await?;
            Ok(())
        })
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// Those of `readlink`.
    pub fn read_link(&self, path: &[u8]) -> io::Result<Bytes> {
        self.run(async |client| {
            let found = async |link: Attributes| match link.kind {
                Kind::Symlink => client.read_link(link.id).await,
                _ => Err(Errno::EINVAL),
            };
            at_path(client, path, false, found).await
        })
    }
}
