//! The operations of a client that open files consist of.

use alloc::vec::Vec;
use core::future::Future;
use futago_base::{Errno, FileId, Name, NameHash, Payload};
use futago_client::{Client, Context, CreateFlags};
use futago_wire::{AttributeChange, FileState, ListedEntry, NewNode};

/// A client whose operations open files consist of. A client that records operations, or counts
/// them, implements this with its own ones. Each is that of [`Client`] with the same name, and has
/// its errors.
pub trait Operations {
    /// The context of the client.
    type Context: Context;

    /// The client itself, for operations that no program requested.
    fn core(&self) -> &Client<Self::Context>;

    /// [`Client::open`].
    fn open(&self, id: FileId) -> impl Future<Output = Result<FileState, Errno>> {
        self.core().open(id)
    }

    /// [`Client::close`].
    fn close(&self, id: FileId) -> impl Future<Output = Result<(), Errno>> {
        self.core().close(id)
    }

    /// [`Client::create`] without data.
    fn create(
        &self,
        directory: FileId,
        name: &Name,
        node: NewNode,
        flags: CreateFlags,
    ) -> impl Future<Output = Result<(FileState, bool), Errno>> {
        self.core()
            .create(directory, name, node, flags, Payload::empty())
    }

    /// [`Client::attributes`].
    fn attributes(&self, id: FileId) -> impl Future<Output = Result<FileState, Errno>> {
        self.core().attributes(id)
    }

    /// [`Client::set_attributes`].
    fn set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
    ) -> impl Future<Output = Result<FileState, Errno>> {
        self.core().set_attributes(id, change)
    }

    /// [`Client::read`].
    fn read(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> impl Future<Output = Result<Payload, Errno>> {
        self.core().read(id, offset, length)
    }

    /// [`Client::write`].
    fn write(
        &self,
        id: FileId,
        offset: u64,
        data: Payload,
        kill_privileges: bool,
    ) -> impl Future<Output = Result<u64, Errno>> {
        self.core().write(id, offset, data, kill_privileges)
    }

    /// [`Client::append`].
    fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> impl Future<Output = Result<u64, Errno>> {
        self.core().append(id, data, kill_privileges)
    }

    /// [`Client::read_directory`].
    fn read_directory(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
        attributes: bool,
    ) -> impl Future<Output = Result<Vec<ListedEntry>, Errno>> {
        self.core()
            .read_directory(directory, after, entries_max, attributes)
    }

    /// [`Client::copy_range`].
    fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> impl Future<Output = Result<u64, Errno>> {
        self.core()
            .copy_range(source, source_offset, target, target_offset, length)
    }
}

/// The client without recording.
impl<C: Context> Operations for Client<C> {
    type Context = C;

    fn core(&self) -> &Self {
        self
    }
}
