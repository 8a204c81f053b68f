//! Steps of recorded runs.

use super::data::{file_node, place_path};
use super::operation::Done;
use crate::world::{Activity, Directory, OperationKind, Phase};
use futago_base::{Errno, FileId, NameHash, Payload};
use futago_client::{Client, Context, CreateFlags, RenameFlags};
use futago_lab::workload::{
    Trace, contents,
    trace::{Action, Step},
};
use futago_trace::Operation;
use futago_wire::{AttributeChange, NewContent, NewNode, SetTime};
use serde::Serialize;

/// A step of a trace, by its place in the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TraceWork {
    /// The phase.
    pub phase: u32,
    /// Whether the step makes what the trace begins with.
    pub prepares: bool,
    /// The index of the step among those of its kind and client.
    pub index: u64,
    /// The kind under which the step is measured.
    pub kind: OperationKind,
    /// The files that it is about, as far as they are known.
    pub files: StepFiles,
    /// The number of the file that it makes or finds.
    pub finds: Option<u64>,
}

/// The files of a step, in the order of [`Operation::files`]; `None` for those that were not found.
pub type StepFiles = [Option<FileId>; 2];

impl TraceWork {
    /// A client's step; `None` if it has no more.
    pub fn of(trace: &Trace, phase: u32, prepares: bool, client: u32, index: u64) -> Option<Self> {
        let step = step(trace, prepares, client, index)?;
        Some(Self {
            phase,
            prepares,
            index,
            kind: step_kind(step),
            files: [None; 2],
            finds: step.action.finds(),
        })
    }

    /// The data that it writes; nothing if it does not write.
    pub fn data(self, activity: &Activity, client: u32) -> Payload {
        let step = self.step(activity, client);
        step.map_or_else(Payload::empty, step_data)
    }

    /// Performs it for a client, with the data of [`TraceWork::data`]; `shared` are the directories
    /// that [`Place::Shared`](crate::world::Place::Shared) counts.
    ///
    /// # Errors
    ///
    /// Those of the operation, and `ESTALE` if a file that it is about has not been found.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        phase: &Phase,
        shared: &[Directory],
        data: Payload,
    ) -> Result<Done, Errno> {
        let step = self.step(&phase.activity, client).ok_or(Errno::EINVAL)?;
        let root = place_path(phase.place, client, shared)?;
        perform_step(core, step, self.files, &root, data).await
    }

    /// The files that it is about, where `files` tells what numbers stand for.
    pub fn files_in(
        self,
        activity: &Activity,
        client: u32,
        files: impl Fn(u64) -> Option<FileId>,
    ) -> StepFiles {
        let step = self.step(activity, client);
        step.map_or_else(StepFiles::default, |step| step_files(step, files))
    }

    fn step(self, activity: &Activity, client: u32) -> Option<&Step> {
        match activity {
            Activity::Trace(trace) => step(trace, self.prepares, client, self.index),
            _ => None,
        }
    }
}

/// A step of a client; `None` if there is none. All that a trace begins with is made by one client.
fn step(trace: &Trace, prepares: bool, client: u32, index: u64) -> Option<&Step> {
    let steps = match (prepares, client) {
        (true, 0) => &trace.preparation,
        (true, _) => return None,
        (false, client) => trace.processes.get(client as usize)?,
    };
    steps.get(usize::try_from(index).ok()?)
}

/// The files that a step is about, where `files` tells what numbers stand for.
fn step_files(step: &Step, files: impl Fn(u64) -> Option<FileId>) -> StepFiles {
    let mut found = StepFiles::default();
    if let Action::Perform(operation) = &step.action {
        for (slot, number) in found.iter_mut().zip(operation.files()) {
            *slot = files(number);
        }
    }
    found
}

/// The data of a step that writes. It depends only on the file's number in the trace.
fn step_data(step: &Step) -> Payload {
    let Action::Perform(operation) = &step.action else {
        return Payload::empty();
    };
    let (file, offset, length) = match *operation {
        Operation::Create { file, length, .. } => (file.unwrap_or_default(), 0, length),
        Operation::Append { file, length } => (file, 0, length),
        Operation::Write {
            file,
            offset,
            length,
        } => (file, offset, length),
        _ => return Payload::empty(),
    };
    Payload::of_pattern(contents(0, file), offset, length as usize)
}

/// The kind under which a step is measured.
const fn step_kind(step: &Step) -> OperationKind {
    let Action::Perform(operation) = &step.action else {
        return OperationKind::Lookup;
    };
    match operation {
        Operation::Stat { .. } => OperationKind::Stat,
        Operation::Create { .. } => OperationKind::Create,
        Operation::MakeDirectory { .. } => OperationKind::MakeDirectory,
        Operation::Symlink { .. } => OperationKind::Symlink,
        Operation::Link { .. } => OperationKind::Link,
        Operation::Unlink { .. } => OperationKind::Unlink,
        Operation::RemoveDirectory { .. } => OperationKind::RemoveDirectory,
        Operation::Rename { exchange: true, .. } => OperationKind::Exchange,
        Operation::Rename { .. } => OperationKind::Rename,
        Operation::GetAttributes { .. } => OperationKind::GetAttributes,
        Operation::SetAttributes { .. } => OperationKind::SetAttributes,
        Operation::Open { .. } => OperationKind::Open,
        Operation::Close { .. } => OperationKind::Close,
        Operation::Read { .. } => OperationKind::Read,
        Operation::Write { .. } => OperationKind::Write,
        Operation::Append { .. } => OperationKind::Append,
        Operation::Copy { .. } => OperationKind::Copy,
        Operation::ReadLink { .. } => OperationKind::ReadLink,
        Operation::ReadDirectory { .. } => OperationKind::ReadDirectory,
    }
}

/// Performs a step in the directory of the path `root`. A step on a file that was not found fails
/// with `ESTALE`.
///
/// # Errors
///
/// Those of the operation.
async fn perform_step<C: Context>(
    core: &Client<C>,
    step: &Step,
    [file, other]: StepFiles,
    root: &[u8],
    data: Payload,
) -> Result<Done, Errno> {
    let operation = match &step.action {
        Action::Find { path, .. } => {
            let path = [root, b"/", path].concat();
            let found = core.resolve(&path, false).await?;
            return Ok(Done::found(found.attributes.id));
        }
        Action::Perform(operation) => operation,
    };
    let file = file.ok_or(Errno::ESTALE)?;
    match operation {
        Operation::Link { name, .. } => {
            let directory = other.ok_or(Errno::ESTALE)?;
            core.link(file, directory, name).await?;
        }
        Operation::Rename {
            name,
            new_name,
            no_replace,
            exchange,
            ..
        } => {
            let flags = RenameFlags {
                no_replace: *no_replace,
                exchange: *exchange,
                whiteout: None,
            };
            let new_directory = other.ok_or(Errno::ESTALE)?;
            core.rename(file, name, new_directory, new_name, flags)
                .await?;
        }
        Operation::Unlink { name, .. } => core.unlink(file, name).await?,
        Operation::RemoveDirectory { name, .. } => core.remove_directory(file, name).await?,
        Operation::Copy {
            offset,
            to_offset,
            length,
            ..
        } => {
            let to = other.ok_or(Errno::ESTALE)?;
            let copied = core.copy_range(file, *offset, to, *to_offset, *length);
            return copied.await.map(Done::moved);
        }
        Operation::Read { .. } | Operation::Write { .. } | Operation::Append { .. } => {
            return transfer(core, operation, file, data).await.map(Done::moved);
        }
        operation => match find_or_make(core, operation, file, data).await? {
            Some(found) => return Ok(Done::found(found)),
            None => ask(core, operation, file).await?,
        },
    }
    Ok(Done::default())
}

/// Finds or makes a file in a directory; `None` if the operation does something else.
async fn find_or_make<C: Context>(
    core: &Client<C>,
    operation: &Operation,
    directory: FileId,
    data: Payload,
) -> Result<Option<FileId>, Errno> {
    let state = match operation {
        Operation::Stat { name, .. } => core.lookup(directory, name).await?,
        Operation::Create {
            name,
            exclusive,
            open,
            ..
        } => {
            let node = file_node(core);
            let made = core.create(
                directory,
                name,
                node,
                CreateFlags {
                    exclusive: *exclusive,
                    open: *open,
                },
                data,
            );
            made.await?.0
        }
        Operation::MakeDirectory { name, .. } => {
            core.make_directory(directory, name, 0o755, 0, 0).await?
        }
        Operation::Symlink { name, size, .. } => {
            let node = NewNode {
                content: NewContent::Symlink(vec![b'x'; *size as usize].into()),
                mode: 0o777,
                uid: 0,
                gid: 0,
            };
            let made = core.create(directory, name, node, CreateFlags::EXCLUSIVE, data);
            made.await?.0
        }
        _ => return Ok(None),
    };
    Ok(Some(state.attributes.id))
}

/// Moves file data, and returns how many bytes.
async fn transfer<C: Context>(
    core: &Client<C>,
    operation: &Operation,
    file: FileId,
    data: Payload,
) -> Result<u64, Errno> {
    let length = data.len() as u64;
    match *operation {
        Operation::Read { offset, length, .. } => {
            let read = core.read(file, offset, length).await?;
            Ok(read.len() as u64)
        }
        Operation::Write { offset, .. } => {
            let written = core.write(file, offset, data, false);
            written.await.map(|_| length)
        }
        Operation::Append { .. } => {
            let written = core.append(file, data, false);
            written.await.map(|_| length)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Performs what is about one file and moves no data.
async fn ask<C: Context>(
    core: &Client<C>,
    operation: &Operation,
    file: FileId,
) -> Result<(), Errno> {
    match *operation {
        Operation::GetAttributes { .. } => core.attributes(file).await.map(drop),
        Operation::SetAttributes { size, mode, .. } => {
            let others = size.is_none() && mode.is_none();
            let change = AttributeChange {
                size,
                mode,
                modified: others.then_some(SetTime::Now),
                ..AttributeChange::default()
            };
            core.set_attributes(file, change).await.map(drop)
        }
        Operation::Open { .. } => core.open(file).await.map(drop),
        Operation::Close { .. } => core.close(file).await,
        Operation::ReadLink { .. } => core.read_link(file).await.map(drop),
        Operation::ReadDirectory {
            after,
            entries,
            attributes,
            ..
        } => {
            let listed = core.read_directory(file, NameHash(after), entries, attributes);
            listed.await.map(drop)
        }
        _ => Err(Errno::EINVAL),
    }
}
