//! Extended attributes of paths and of open files.

use super::{File, FileSystem, at_path};
use crate::RecordedClient;
use bytes::Bytes;
use futago_base::{Errno, FileId, Kind, XattrName};
use futago_client::XattrMode;
use futago_files::{Credentials, xattrs};
use std::{io, pin::pin};

/// The file whose attributes are used, and the caller.
#[derive(Clone, Copy)]
struct Subject {
    id: FileId,
    kind: Kind,
    caller: Credentials,
}

impl Subject {
    async fn get(self, client: &RecordedClient, name: &XattrName) -> Result<Bytes, Errno> {
        xattrs::check_read(name, self.caller)?;
        client.get_xattr(self.id, name).await
    }

    async fn set(
        self,
        client: &RecordedClient,
        name: &XattrName,
        value: Bytes,
        mode: XattrMode,
    ) -> Result<(), Errno> {
        xattrs::check_change(name, self.kind, self.caller)?;
        client.set_xattr(self.id, name, value, mode).await
    }

    async fn remove(self, client: &RecordedClient, name: &XattrName) -> Result<(), Errno> {
        xattrs::check_change(name, self.kind, self.caller)?;
        client.remove_xattr(self.id, name).await
    }

    async fn list(self, client: &RecordedClient) -> Result<Vec<XattrName>, Errno> {
        let names = client.list_xattrs(self.id).await?;
        Ok(xattrs::readable(names, self.caller))
    }
}

/// A name that is stored.
fn supported(name: &[u8]) -> io::Result<XattrName> {
    xattrs::supported(Bytes::copy_from_slice(name)).map_err(super::os_error)
}

impl FileSystem {
    /// The value of an extended attribute. With `follow` it is that of a symbolic link's target.
    ///
    /// # Errors
    /// Those of `getxattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn xattr(&self, path: &[u8], follow: bool, name: &[u8]) -> io::Result<Bytes> {
        let name = &supported(name)?;
        self.with_subject(path, follow, async |client, of| of.get(client, name).await)
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// Those of `setxattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn set_xattr(
        &self,
        path: &[u8],
        follow: bool,
        name: &[u8],
        value: Bytes,
        mode: XattrMode,
    ) -> io::Result<()> {
        let name = &supported(name)?;
        let set = async |client: &RecordedClient, of: Subject| {
            of.set(client, name, value.clone(), mode).await
        };
        self.with_subject(path, follow, set)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// Those of `removexattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn remove_xattr(&self, path: &[u8], follow: bool, name: &[u8]) -> io::Result<()> {
        let name = &supported(name)?;
        let remove = async |client: &RecordedClient, of: Subject| of.remove(client, name).await;
        self.with_subject(path, follow, remove)
    }

    /// The names of the extended attributes.
    ///
    /// # Errors
    /// Those of `listxattr`.
    pub fn xattr_names(&self, path: &[u8], follow: bool) -> io::Result<Vec<XattrName>> {
        let list = async |client: &RecordedClient, of: Subject| of.list(client).await;
        self.with_subject(path, follow, list)
    }

    fn with_subject<T>(
        &self,
        path: &[u8],
        follow: bool,
        work: impl AsyncFn(&RecordedClient, Subject) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let caller = self.caller;
        self.run(async |client| {
            at_path(client, path, follow, async |found| {
                let (id, kind) = (found.id, found.kind);
                work(client, Subject { id, kind, caller }).await
            })
            .await
        })
    }
}

impl File {
    /// The value of an extended attribute.
    ///
    /// # Errors
    /// Those of `fgetxattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn xattr(&self, name: &[u8]) -> io::Result<Bytes> {
        let name = &supported(name)?;
        self.on_subject(async |client, of| of.get(client, name).await)
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// Those of `fsetxattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn set_xattr(&self, name: &[u8], value: Bytes, mode: XattrMode) -> io::Result<()> {
        let name = &supported(name)?;
        self.on_subject(async |client, of| of.set(client, name, value, mode).await)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// Those of `fremovexattr`; `EOPNOTSUPP` for a name that is never stored.
    pub fn remove_xattr(&self, name: &[u8]) -> io::Result<()> {
        let name = &supported(name)?;
        self.on_subject(async |client, of| of.remove(client, name).await)
    }

    /// The names of the extended attributes.
    ///
    /// # Errors
    /// Those of `flistxattr`.
    pub fn xattr_names(&self) -> io::Result<Vec<XattrName>> {
        self.on_subject(async |client, of| of.list(client).await)
    }

    fn on_subject<T>(
        &self,
        work: impl AsyncFnOnce(&RecordedClient, Subject) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let handle = self.handle();
        let subject = Subject {
            id: handle.id(),
            kind: Kind::File,
            caller: handle.caller(),
        };
        self.run(async |client| {
            let work = pin!(work(client, subject));
            handle.open().run(client, work).await
        })
    }
}
