//! Operations on a cluster for copies of trees.

use super::{Connection, RemotePath};
use bytes::Bytes;
use futago_base::{Errno, FileId, Name, Payload, XattrName};
use futago_client::{CreateFlags, RenameFlags, XattrMode};
use futago_node::RecordedClient;
use futago_wire::{AttributeChange, NewContent, NewNode};
use rustix::process::{getegid, geteuid};

impl Connection {
    /// Makes a regular file that only this user can read, under a name that nothing has.
    pub fn create_file(&self, directory: FileId, name: &Name) -> anyhow::Result<FileId> {
        let content = NewContent::InheritingFile {
            default_chunk_bytes: self.chunk_bytes,
        };
        self.create(directory, name, content, 0o600)
    }

    /// Makes a symbolic link under a name that nothing has.
    pub fn symlink(&self, directory: FileId, name: &Name, target: &[u8]) -> anyhow::Result<FileId> {
        let content = NewContent::Symlink(Bytes::copy_from_slice(target));
        self.create(directory, name, content, 0o777)
    }

    fn create(
        &self,
        directory: FileId,
        name: &Name,
        content: NewContent,
        mode: u16,
    ) -> anyhow::Result<FileId> {
        let node = NewNode {
            content,
            mode,
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        };
        let create = async |client: &RecordedClient| {
            let data = Payload::empty();
            client
                .create(directory, name, node, CreateFlags::EXCLUSIVE, data)
                .await
        };
        let (state, _) = self.run(|| format!("making {name}"), create)?;
        Ok(state.attributes.id)
    }

    /// The node of a name, if the name exists.
    pub fn find(&self, directory: FileId, name: &Name) -> anyhow::Result<Option<FileId>> {
        let find = async |client: &RecordedClient| match client.lookup(directory, name).await {
            Ok(state) => Ok(Some(state.attributes.id)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        };
        self.run(|| name.to_string(), find)
    }

    /// Gives a file one more name.
    pub fn link(&self, id: FileId, directory: FileId, name: &Name) -> anyhow::Result<()> {
        let link = async |client: &RecordedClient| client.link(id, directory, name).await;
        self.run(|| format!("linking {name}"), link).map(drop)
    }

    /// Renames within a directory and replaces a file of the new name.
    pub fn rename(&self, directory: FileId, from: &Name, to: &Name) -> anyhow::Result<()> {
        let rename = async |client: &RecordedClient| {
            let flags = RenameFlags::default();
            client.rename(directory, from, directory, to, flags).await
        };
        self.run(|| format!("naming {to}"), rename)
    }

    /// Removes a name that is not a directory's.
    pub fn remove_name(&self, directory: FileId, name: &Name) -> anyhow::Result<()> {
        let unlink = async |client: &RecordedClient| client.unlink(directory, name).await;
        self.run(|| format!("removing {name}"), unlink)
    }

    /// Changes attributes.
    pub fn set_attributes(&self, id: FileId, change: AttributeChange) -> anyhow::Result<()> {
        let set = async |client: &RecordedClient| client.set_attributes(id, change).await;
        self.run(|| "setting attributes".to_owned(), set).map(drop)
    }

    /// Sets an extended attribute.
    pub fn set_xattr(&self, id: FileId, name: &[u8], value: Vec<u8>) -> anyhow::Result<()> {
        let name = XattrName::new(name.to_vec())?;
        let set = async |client: &RecordedClient| {
            let value = Bytes::from(value);
            client.set_xattr(id, &name, value, XattrMode::Set).await
        };
        self.run(
            || format!("setting {}", name.as_bytes().escape_ascii()),
            set,
        )
    }

    /// The extended attributes: names and values.
    pub fn xattrs(&self, id: FileId) -> anyhow::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let get = async |client: &RecordedClient| {
            let mut all = Vec::new();
            for name in client.list_xattrs(id).await? {
                let value = client.get_xattr(id, &name).await?;
                all.push((name.as_bytes().to_vec(), value.to_vec()));
            }
            Ok(all)
        };
        self.run(|| "extended attributes".to_owned(), get)
    }

    /// The target of a symbolic link.
    pub fn read_link(&self, path: &RemotePath, id: FileId) -> anyhow::Result<Bytes> {
        let read = async |client: &RecordedClient| client.read_link(id).await;
        self.run(|| format!("reading {path}"), read)
    }

    /// Reads at an offset; nothing at the end of the file.
    pub fn read(
        &self,
        path: &RemotePath,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> anyhow::Result<Bytes> {
        let read = async |client: &RecordedClient| client.read(id, offset, length).await;
        let data = self.run(|| format!("reading {path} at {offset}"), read)?;
        Ok(data.bytes())
    }

    /// Where data begins at an offset or behind it, if there is any.
    pub fn next_data(
        &self,
        path: &RemotePath,
        id: FileId,
        offset: u64,
    ) -> anyhow::Result<Option<u64>> {
        let seek = async |client: &RecordedClient| match client.seek_data(id, offset).await {
            Ok(begin) => Ok(Some(begin)),
            Err(Errno::ENXIO) => Ok(None),
            Err(errno) => Err(errno),
        };
        self.run(|| format!("reading {path} at {offset}"), seek)
    }

    /// Where the next hole begins, or the file ends.
    pub fn next_hole(&self, path: &RemotePath, id: FileId, offset: u64) -> anyhow::Result<u64> {
        let seek = async |client: &RecordedClient| client.seek_hole(id, offset).await;
        self.run(|| format!("reading {path} at {offset}"), seek)
    }
}
