//! The operations of a copy on a cluster.

use super::{ClusterNode, ClusterTree, Place, if_exists};
use crate::{
    Failure, NodeMetadata, Result, TreePath,
    tree::{Links, Tree, TreeListing, Xattr},
};
use bytes::Bytes;
use futago_base::{Errno, FileId, Kind, Payload, XattrName};
use futago_client::{RenameFlags, XattrMode};
use futago_node::RecordedClient;
use futago_wire::{AttributeChange, NewContent, SetTime};
use rustix::process::{getegid, geteuid};
use std::sync::PoisonError;

impl Tree for ClusterTree {
    type Node = ClusterNode;

    fn metadata(&self, path: &TreePath, links: Links) -> Result<Option<NodeMetadata>> {
        let attributes = match path.last_name() {
            Some(_) if links == Links::Unfollowed => {
                let Place { directory, name } = self.place(path)?;
                self.look_up(path, directory, &name)?
            }
            _ => {
                let resolve = async |client: &RecordedClient| {
                    if_exists(
                        client
                            .resolve(path.bytes(), true)
                            .await
                            .map(|found| found.attributes),
                    )
                };
                self.run(path, "finding", resolve)?
            }
        };
        Ok(attributes.map(|attributes| (&attributes).into()))
    }

    fn list(&self, directory: &TreePath) -> TreeListing {
        let mut listing = TreeListing::default();
        // A server that does not answer hides its own entries alone.
        let listed = self.list_into(directory, &mut listing);
        listing.failures.extend(listed.err());
        listing
    }

    fn open(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<ClusterNode> {
        Ok(ClusterNode {
            path: path.clone(),
            id: FileId(metadata.identity.inode),
        })
    }

    fn open_to_write(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<ClusterNode> {
        self.open(path, metadata)
    }

    fn create_file(&self, path: &TreePath) -> Result<ClusterNode> {
        let content = NewContent::InheritingFile {
            default_chunk_bytes: self.chunk_bytes,
        };
        self.create(path, content, 0o600)
    }

    fn create_released(&self, path: &TreePath, size: u64) -> Result<ClusterNode> {
        let content = NewContent::ReleasedFile {
            default_chunk_bytes: self.chunk_bytes,
            size,
        };
        self.create(path, content, 0o600)
    }

    fn create_symlink(&self, path: &TreePath, target: &[u8]) -> Result<ClusterNode> {
        let target = Bytes::copy_from_slice(target);
        self.create(path, NewContent::Symlink(target), 0o777)
    }

    fn create_special(&self, path: &TreePath, like: &NodeMetadata) -> Result<ClusterNode> {
        let content = match like.kind {
            Kind::Fifo => NewContent::Fifo,
            Kind::Socket => NewContent::Socket,
            Kind::CharacterDevice => NewContent::CharacterDevice(like.device),
            Kind::BlockDevice => NewContent::BlockDevice(like.device),
            Kind::File | Kind::Directory | Kind::Symlink => {
                return Err(Failure::of_file(path, "creating", "it is no special file"));
            }
        };
        self.create(path, content, 0o600)
    }

    fn make_directory(&self, path: &TreePath, mode: u16) -> Result<()> {
        if path.last_name().is_none() {
            return Ok(());
        }
        let Place { directory, name } = self.place(path)?;
        let make = async |client: &RecordedClient| {
            let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
            match client
                .make_directory(directory, &name, mode, uid, gid)
                .await
            {
                Err(Errno::EEXIST) => client.lookup(directory, &name).await,
                made => made,
            }
        };
        let made = self.run(path, "making", make)?.attributes;
        if made.kind != Kind::Directory {
            return Err(Failure::of_file(
                path,
                "making",
                "it exists and is no directory",
            ));
        }
        let mut known = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(path.clone(), made.id);
        Ok(())
    }

    fn link(&self, path: &TreePath, new: &TreePath) -> Result<()> {
        let (from, to) = (self.place(path)?, self.place(new)?);
        let link = async |client: &RecordedClient| {
            let found = client.lookup(from.directory, &from.name).await?.attributes;
            client.link(found.id, to.directory, &to.name).await
        };
        self.run(new, "linking", link).map(drop)
    }

    fn rename(&self, from: &TreePath, to: &TreePath) -> Result<()> {
        let (old, new) = (self.place(from)?, self.place(to)?);
        let flags = RenameFlags::default();
        let rename = async |client: &RecordedClient| {
            let (to, name) = (new.directory, &new.name);
            client
                .rename(old.directory, &old.name, to, name, flags)
                .await
        };
        self.run(to, "naming", rename)
    }

    fn remove(&self, path: &TreePath) -> Result<()> {
        let Place { directory, name } = self.place(path)?;
        let unlink =
            async |client: &RecordedClient| if_exists(client.unlink(directory, &name).await);
        self.run(path, "removing", unlink).map(drop)
    }

    fn metadata_of(&self, node: &ClusterNode) -> Result<NodeMetadata> {
        let attributes = async |client: &RecordedClient| client.attributes(node.id).await;
        let state = self.run_on(node, "reading", attributes)?;
        Ok((&state.attributes).into())
    }

    fn read(&self, node: &ClusterNode, offset: u64, length: u32) -> Result<Bytes> {
        let read = async |client: &RecordedClient| client.read(node.id, offset, length).await;
        Ok(self.run_on(node, "reading", read)?.bytes())
    }

    fn write(&self, node: &ClusterNode, offset: u64, data: Bytes) -> Result<()> {
        let data = Payload::from(data);
        let write =
            async |client: &RecordedClient| client.write(node.id, offset, data, false).await;
        self.run_on(node, "writing", write).map(drop)
    }

    fn next_data(&self, node: &ClusterNode, offset: u64) -> Result<Option<u64>> {
        let seek =
            async |client: &RecordedClient| if_exists(client.seek_data(node.id, offset).await);
        self.run_on(node, "reading", seek)
    }

    fn next_hole(&self, node: &ClusterNode, offset: u64) -> Result<u64> {
        let seek = async |client: &RecordedClient| client.seek_hole(node.id, offset).await;
        self.run_on(node, "reading", seek)
    }

    fn set_size(&self, node: &ClusterNode, size: u64) -> Result<()> {
        let size = Some(size);
        self.change(
            node,
            AttributeChange {
                size,
                ..AttributeChange::default()
            },
        )
    }

    fn read_link(&self, node: &ClusterNode) -> Result<Vec<u8>> {
        let read = async |client: &RecordedClient| client.read_link(node.id).await;
        Ok(self.run_on(node, "reading", read)?.to_vec())
    }

    fn xattrs(&self, node: &ClusterNode) -> Result<Vec<Xattr>> {
        let get = async |client: &RecordedClient| {
            let mut all = Vec::new();
            for name in client.list_xattrs(node.id).await? {
                let value = client.get_xattr(node.id, &name).await?.to_vec();
                let name = name.as_bytes().to_vec();
                all.push(Xattr { name, value });
            }
            all.sort();
            Ok(all)
        };
        self.run_on(node, "reading attributes of", get)
    }

    fn set_xattr(&self, node: &ClusterNode, xattr: &Xattr) -> Result<()> {
        let value = Bytes::copy_from_slice(&xattr.value);
        let set = async |client: &RecordedClient| {
            let name = XattrName::new(xattr.name.clone())?;
            client
                .set_xattr(node.id, &name, value, XattrMode::Set)
                .await
        };
        let action = format!("setting attribute {} of", crate::path::escape(&xattr.name));
        self.run_on(node, &action, set)
    }

    fn remove_xattr(&self, node: &ClusterNode, name: &[u8]) -> Result<()> {
        let remove = async |client: &RecordedClient| {
            let name = XattrName::new(name.to_vec())?;
            if_exists(client.remove_xattr(node.id, &name).await)
        };
        self.run_on(node, "removing an attribute of", remove)
            .map(drop)
    }

    fn set_owner(&self, node: &ClusterNode, of: &NodeMetadata) -> Result<()> {
        let (uid, gid) = (Some(of.uid), Some(of.gid));
        self.change(
            node,
            AttributeChange {
                uid,
                gid,
                ..AttributeChange::default()
            },
        )
    }

    fn set_attributes(&self, node: &ClusterNode, of: &NodeMetadata) -> Result<()> {
        let change = AttributeChange {
            mode: (of.kind != Kind::Symlink).then_some(of.mode),
            accessed: Some(SetTime::To(of.accessed)),
            modified: Some(SetTime::To(of.modified)),
            ..AttributeChange::default()
        };
        self.change(node, change)
    }

    /// Servers hold data in memory, so that written data is as safe as it gets.
    fn synchronize(&self, _: &ClusterNode) -> Result<()> {
        Ok(())
    }

    fn synchronize_all(&self, _: &TreePath) -> Result<()> {
        Ok(())
    }
}
