//! A client whose operations can be recorded.

use super::NodeContext;
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Name, NameHash, Payload, record::Entry};
use futago_client::{CreateFlags, NameLocation, PathStep, RenameFlags};
use futago_files::{OpenFiles, Operations};
use futago_trace::{Begun, Met, Operation, ROOT, Recorder};
use futago_wire::{AttributeChange, FileState, ListedEntry, NewContent, NewNode};
use rustix::thread::gettid;
use std::{ops::Deref, sync::Arc};

/// The client of the protocol.
type Core = futago_client::Client<NodeContext>;

/// A client whose operations are recorded, if there is a recorder.
///
/// The operations that a trace can contain are methods of this type. Operations through
/// [`RecordedClient::core`] are not recorded, which is for work that no program requested.
#[derive(Clone)]
pub struct RecordedClient {
    core: Arc<Core>,
    files: Arc<OpenFiles>,
    recorder: Option<Recorder>,
    caller: Caller,
}

/// The thread that requests operations.
#[derive(Clone, Copy)]
enum Caller {
    /// The thread that they run on.
    This,
    /// Another thread, if it is known.
    Other(Option<u64>),
}

impl Deref for RecordedClient {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// A file's number in traces.
fn number(id: FileId) -> u64 {
    if id == FileId::ROOT { ROOT } else { id.0 }
}

/// A file that has been found.
fn met(directory: FileId, name: &Name, of: &Attributes) -> Met {
    Met {
        size: Some(of.size),
        ..met_entry(directory, name, of.id, of.kind)
    }
}

/// A file that has been found, without its attributes.
fn met_entry(directory: FileId, name: &Name, id: FileId, kind: futago_base::Kind) -> Met {
    Met {
        file: number(id),
        directory: number(directory),
        name: name.clone(),
        kind,
        size: None,
    }
}

fn found(state: Option<&FileState>) -> Option<u64> {
    state.map(|state| number(state.attributes.id))
}

/// An operation, and the files that it found.
type RecordedOperation = (Operation, Vec<Met>);

/// The record of an operation in progress, if there is a recorder. A dropped one records nothing.
struct Recording<'a>(Option<Begun<'a>>);

impl Recording<'_> {
    /// Ends the operation; `tell` describes it and the files that it found. Returns its result.
    fn end<T>(
        self,
        result: Result<T, Errno>,
        tell: impl FnOnce(Option<&T>) -> RecordedOperation,
    ) -> Result<T, Errno> {
        if let Some(mut begun) = self.0 {
            let (operation, met) = tell(result.as_ref().ok());
            begun.tell(operation, result.as_ref().err().copied(), met);
        }
        result
    }

    /// Ends an operation that finds no files.
    fn end_plain<T>(
        self,
        result: Result<T, Errno>,
        tell: impl FnOnce() -> Operation,
    ) -> Result<T, Errno> {
        self.end(result, |_| (tell(), Vec::new()))
    }
}

impl RecordedClient {
    pub(super) fn new(core: Core, recorder: Option<Recorder>) -> Self {
        Self {
            core: Arc::new(core),
            files: Arc::default(),
            recorder,
            caller: Caller::This,
        }
    }

    /// The same client on behalf of a thread of another process; 0 if the thread is not known.
    #[must_use]
    pub fn on_behalf_of(self: &Arc<Self>, thread: u32) -> Arc<Self> {
        if self.recorder.is_none() {
            return Arc::clone(self);
        }
        let known = (thread != 0).then_some(thread.into());
        Arc::new(Self {
            caller: Caller::Other(known),
            ..Self::clone(self)
        })
    }

    /// The client without recording.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The open files of the client.
    pub fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Begins to record an operation, if there is a recorder. The operation itself is not passed as
    /// an argument (docs/design/polling.md).
    fn recording(&self) -> Recording<'_> {
        Recording(self.begin())
    }

    fn begin(&self) -> Option<Begun<'_>> {
        let process = match self.caller {
            Caller::This => None,
            Caller::Other(thread) => Some(thread),
        };
        let recorder = self.recorder.as_ref()?;
        let this_thread = || u64::try_from(gettid().as_raw_nonzero().get()).ok();
        recorder.begin(process.unwrap_or_else(this_thread))
    }

    /// Runs and records [`futago_client::Client::lookup`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn lookup(&self, directory: FileId, name: &Name) -> Result<FileState, Errno> {
        let recording = self.recording();
        let result = self.core.lookup(directory, name).await;
        let tell = |state: Option<&FileState>| {
            let operation = Operation::Stat {
                directory: number(directory),
                name: name.clone(),
                file: found(state),
            };
            let met = state.map(|state| met(directory, name, &state.attributes));
            (operation, met.into_iter().collect())
        };
        recording.end(result, tell)
    }

    /// Runs and records [`futago_client::Client::create`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn create(
        &self,
        directory: FileId,
        name: &Name,
        node: NewNode,
        flags: CreateFlags,
        data: Payload,
    ) -> Result<(FileState, bool), Errno> {
        let length = data.len() as u64;
        let target = match &node.content {
            NewContent::Symlink(target) => Some(target.len() as u32),
            _ => None,
        };
        let recording = self.recording();
        let result = self.core.create(directory, name, node, flags, data).await;
        let tell = |made: Option<&(FileState, bool)>| {
            let (number_of, name_of) = (number(directory), name.clone());
            let file = found(made.map(|(state, _)| state));
            let operation = match target {
                Some(size) => Operation::Symlink {
                    directory: number_of,
                    name: name_of,
                    size,
                    file,
                },
                None => Operation::Create {
                    directory: number_of,
                    name: name_of,
                    exclusive: flags.exclusive,
                    open: flags.open,
                    length,
                    file,
                },
            };
            let old = made.filter(|(_, is_new)| !is_new);
            let met = old.map(|(state, _)| met(directory, name, &state.attributes));
            (operation, met.into_iter().collect())
        };
        recording.end(result, tell)
    }

    /// Runs and records [`futago_client::Client::make_directory`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn make_directory(
        &self,
        directory: FileId,
        name: &Name,
        mode: u16,
        uid: u32,
        gid: u32,
    ) -> Result<FileState, Errno> {
        let recording = self.recording();
        let result = self
            .core
            .make_directory(directory, name, mode, uid, gid)
            .await;
        let tell = |state: Option<&FileState>| {
            let operation = Operation::MakeDirectory {
                directory: number(directory),
                name: name.clone(),
                file: found(state),
            };
            (operation, Vec::new())
        };
        recording.end(result, tell)
    }

    /// Runs and records [`futago_client::Client::link`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn link(
        &self,
        id: FileId,
        directory: FileId,
        name: &Name,
    ) -> Result<FileState, Errno> {
        let tell = || Operation::Link {
            file: number(id),
            directory: number(directory),
            name: name.clone(),
        };
        let recording = self.recording();
        let result = self.core.link(id, directory, name).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::unlink`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn unlink(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        let tell = || Operation::Unlink {
            directory: number(directory),
            name: name.clone(),
        };
        let recording = self.recording();
        let result = self.core.unlink(directory, name).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::remove_directory`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn remove_directory(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        let tell = || Operation::RemoveDirectory {
            directory: number(directory),
            name: name.clone(),
        };
        let recording = self.recording();
        let result = self.core.remove_directory(directory, name).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::rename`]. A trace does not contain whiteouts.
    pub async fn rename(
        &self,
        directory: FileId,
        name: &Name,
        new_directory: FileId,
        new_name: &Name,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let tell = || Operation::Rename {
            directory: number(directory),
            name: name.clone(),
            new_in: number(new_directory),
            new_name: new_name.clone(),
            no_replace: flags.no_replace,
            exchange: flags.exchange,
        };
        let recording = self.recording();
        let result = self
            .core
            .rename(directory, name, new_directory, new_name, flags)
            .await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::attributes`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn attributes(&self, id: FileId) -> Result<FileState, Errno> {
        let file = number(id);
        let recording = self.recording();
        let result = self.core.attributes(id).await;
        recording.end_plain(result, || Operation::GetAttributes { file })
    }

    /// Runs and records [`futago_client::Client::set_attributes`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
    ) -> Result<FileState, Errno> {
        let tell = || Operation::SetAttributes {
            file: number(id),
            size: change.size,
            mode: change.mode,
        };
        let recording = self.recording();
        let result = self.core.set_attributes(id, change).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::open`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn open(&self, id: FileId) -> Result<FileState, Errno> {
        let file = number(id);
        let recording = self.recording();
        let result = self.core.open(id).await;
        recording.end_plain(result, || Operation::Open { file })
    }

    /// Runs and records [`futago_client::Client::close`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn close(&self, id: FileId) -> Result<(), Errno> {
        let file = number(id);
        let recording = self.recording();
        let result = self.core.close(id).await;
        recording.end_plain(result, || Operation::Close { file })
    }

    /// Runs and records [`futago_client::Client::read`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn read(&self, id: FileId, offset: u64, length: u32) -> Result<Payload, Errno> {
        let tell = || Operation::Read {
            file: number(id),
            offset,
            length,
        };
        let recording = self.recording();
        let result = self.core.read(id, offset, length).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::write`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn write(
        &self,
        id: FileId,
        offset: u64,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let length = data.len() as u64;
        let tell = || Operation::Write {
            file: number(id),
            offset,
            length,
        };
        let recording = self.recording();
        let result = self.core.write(id, offset, data, kill_privileges).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::append`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let length = data.len() as u64;
        let tell = || Operation::Append {
            file: number(id),
            length,
        };
        let recording = self.recording();
        let result = self.core.append(id, data, kill_privileges).await;
        recording.end_plain(result, tell)
    }

    /// Runs and records [`futago_client::Client::copy_range`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> Result<u64, Errno> {
        let tell = |copied: Option<&u64>| {
            let operation = Operation::Copy {
                file: number(source),
                offset: source_offset,
                to: number(target),
                to_offset: target_offset,
                length: copied.copied().unwrap_or(length),
            };
            (operation, Vec::new())
        };
        let recording = self.recording();
        let result = self
            .core
            .copy_range(source, source_offset, target, target_offset, length)
            .await;
        recording.end(result, tell)
    }

    /// Runs and records [`futago_client::Client::read_link`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn read_link(&self, id: FileId) -> Result<Bytes, Errno> {
        let file = number(id);
        let recording = self.recording();
        let result = self.core.read_link(id).await;
        recording.end_plain(result, || Operation::ReadLink { file })
    }

    /// Runs and records [`futago_client::Client::read_directory`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn read_directory(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
        attributes: bool,
    ) -> Result<Vec<ListedEntry>, Errno> {
        let tell = |listed: Option<&Vec<ListedEntry>>| {
            let operation = Operation::ReadDirectory {
                file: number(directory),
                after: after.0,
                entries: entries_max,
                attributes,
            };
            let met_listed = |listed: &ListedEntry| match &listed.attributes {
                Some(attributes) => met(directory, &listed.name, attributes),
                None => {
                    let Entry { id, kind } = listed.entry;
                    met_entry(directory, &listed.name, id, kind)
                }
            };
            (
                operation,
                listed.into_iter().flatten().map(met_listed).collect(),
            )
        };
        let recording = self.recording();
        let result = self
            .core
            .read_directory(directory, after, entries_max, attributes)
            .await;
        recording.end(result, tell)
    }

    /// Runs and records [`futago_client::Client::resolve`]; every step on the way is recorded.
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn resolve(&self, path: &[u8], follow_last: bool) -> Result<FileState, Errno> {
        let Some(mut begun) = self.begin() else {
            return self.core.resolve(path, follow_last).await;
        };
        let mut last = None;
        let mut watch = |step: PathStep<'_>| {
            if let PathStep::Name {
                directory,
                name,
                outcome: Ok(entry),
            } = step
            {
                last = Some((directory, name.clone(), entry.id));
            }
            tell_step(&mut begun, step);
        };
        let state = self
            .core
            .resolve_watched(path, follow_last, &mut watch)
            .await?;
        // The path may end at a directory without a name of its own, such as `..`.
        match last.filter(|(.., id)| *id == state.attributes.id) {
            Some((directory, name, _)) => begun.add(met(directory, &name, &state.attributes)),
            None => {
                let file = number(state.attributes.id);
                begun.tell(Operation::GetAttributes { file }, None, Vec::new());
            }
        }
        Ok(state)
    }

    /// Runs and records [`futago_client::Client::locate`]; every step on the way is recorded.
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn locate(&self, path: &[u8]) -> Result<NameLocation, Errno> {
        let Some(mut begun) = self.begin() else {
            return self.core.locate(path).await;
        };
        let mut watch = |step: PathStep<'_>| tell_step(&mut begun, step);
        self.core.locate_watched(path, &mut watch).await
    }

    /// Runs and records [`futago_client::Client::check_slash`].
    ///
    /// # Errors
    /// As the operation itself.
    pub async fn check_slash(&self, at: &NameLocation) -> Result<(), Errno> {
        let Some(mut begun) = self.begin() else {
            return self.core.check_slash(at).await;
        };
        let mut watch = |step: PathStep<'_>| tell_step(&mut begun, step);
        self.core.check_slash_watched(at, &mut watch).await
    }
}

/// The recorded operations. Those of an open file run through here.
impl Operations for RecordedClient {
    type Context = NodeContext;

    fn core(&self) -> &Core {
        &self.core
    }

    fn open(&self, id: FileId) -> impl Future<Output = Result<FileState, Errno>> {
        Self::open(self, id)
    }

    fn close(&self, id: FileId) -> impl Future<Output = Result<(), Errno>> {
        Self::close(self, id)
    }

    fn create(
        &self,
        directory: FileId,
        name: &Name,
        node: NewNode,
        flags: CreateFlags,
    ) -> impl Future<Output = Result<(FileState, bool), Errno>> {
        Self::create(self, directory, name, node, flags, Payload::empty())
    }

    fn attributes(&self, id: FileId) -> impl Future<Output = Result<FileState, Errno>> {
        Self::attributes(self, id)
    }

    fn set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
    ) -> impl Future<Output = Result<FileState, Errno>> {
        Self::set_attributes(self, id, change)
    }

    fn read(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> impl Future<Output = Result<Payload, Errno>> {
        Self::read(self, id, offset, length)
    }

    fn write(
        &self,
        id: FileId,
        offset: u64,
        data: Payload,
        kill_privileges: bool,
    ) -> impl Future<Output = Result<u64, Errno>> {
        Self::write(self, id, offset, data, kill_privileges)
    }

    fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> impl Future<Output = Result<u64, Errno>> {
        Self::append(self, id, data, kill_privileges)
    }

    fn read_directory(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
        attributes: bool,
    ) -> impl Future<Output = Result<Vec<ListedEntry>, Errno>> {
        Self::read_directory(self, directory, after, entries_max, attributes)
    }

    fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> impl Future<Output = Result<u64, Errno>> {
        Self::copy_range(self, source, source_offset, target, target_offset, length)
    }
}

/// Records one step of a path resolution.
fn tell_step(begun: &mut Begun<'_>, step: PathStep<'_>) {
    match step {
        PathStep::Name {
            directory,
            name,
            outcome,
        } => {
            let operation = Operation::Stat {
                directory: number(directory),
                name: name.clone(),
                file: outcome.ok().map(|entry| number(entry.id)),
            };
            let met = outcome
                .ok()
                .map(|Entry { id, kind }| met_entry(directory, name, id, kind));
            begun.tell(operation, outcome.err(), met.into_iter().collect());
        }
        PathStep::Link { id, outcome } => {
            let file = number(id);
            begun.tell(Operation::ReadLink { file }, outcome.err(), Vec::new());
        }
    }
}
