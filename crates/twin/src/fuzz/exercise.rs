//! Operations that must work on every server once all faults are over.

use super::perform;
use crate::cluster::SimulatedContext;
use crate::model::{NewKind, Operation, Outcome};
use futago_base::{ClusterMap, FileId, Name, NameHash, ServerId};
use futago_client::{Client, Context as _, RenameFlags};
use futago_lab::check::Listing;
use futago_wire::{Reply, Request};

type Core = Client<SimulatedContext>;

/// How many directories are made, and how many files in each.
const DIRECTORIES: u8 = 6;
const FILES: u8 = 4;
/// More than three chunks.
const FILE_BYTES: u32 = 14_000;
/// Names of hashes below this are in the root's first bucket, however many servers there are.
const FIRST_BUCKET: NameHash = NameHash(1 << 59);

/// Makes directories and files, writes, reads, moves and removes; says what does not work.
pub(super) async fn exercise(core: &Core) -> Result<(), String> {
    let mut made = Vec::new();
    for name in first_names().take(usize::from(DIRECTORIES)) {
        let directory = make_directory(core, FileId::ROOT, name.clone()).await?;
        fill(core, directory).await?;
        made.push((directory, name));
    }
    let directories: Vec<FileId> = made.iter().map(|(directory, _)| *directory).collect();
    for pair in directories.windows(2) {
        move_all(core, pair[0], pair[1]).await?;
    }
    // The remaining nodes lie in the last one.
    for (directory, name) in &made[..made.len() - 1] {
        listed(core, *directory, 0).await?;
        let (directory, name) = (FileId::ROOT, name.clone());
        run(core, Operation::RemoveDirectory { directory, name }).await?;
    }
    let last = directories[directories.len() - 1];
    listed(core, last, usize::from(DIRECTORIES * FILES)).await
}

/// Names that are in the first bucket of every directory.
fn first_names() -> impl Iterator<Item = Name> {
    let names = (0_u32..).filter_map(|number| Name::new(format!("new{number}")).ok());
    names.filter(|name| name.hash() < FIRST_BUCKET)
}

async fn run(core: &Core, operation: Operation) -> Result<Outcome, String> {
    let observed = perform(core, &operation).await;
    observed.map_err(|errno| format!("{} where all is new: {operation:?}\n", errno.name()))
}

async fn make_directory(core: &Core, directory: FileId, name: Name) -> Result<FileId, String> {
    let mode = 0o755;
    let made = Operation::MakeDirectory {
        directory,
        name,
        mode,
    };
    id_of(run(core, made).await?)
}

fn id_of(outcome: Outcome) -> Result<FileId, String> {
    match outcome {
        Outcome::File(state, true) => Ok(state.attributes.id),
        other => Err(format!("not made: {other:?}\n")),
    }
}

/// Makes files of several chunks and reads them.
async fn fill(core: &Core, directory: FileId) -> Result<(), String> {
    for number in 0..FILES {
        let create = Operation::Create {
            directory,
            name: file_name(directory, number),
            kind: NewKind::File(0),
            mode: 0o644,
            exclusive: true,
            open: false,
            tag: 0,
        };
        let id = id_of(run(core, create).await?)?;
        let (offset, length, tag) = (0, FILE_BYTES, number + 1);
        run(
            core,
            Operation::Write {
                id,
                offset,
                length,
                tag,
            },
        )
        .await?;
        let seen = run(core, Operation::Read { id, offset, length }).await?;
        if !matches!(&seen, Outcome::Bytes(bytes) if bytes.len() == length as usize && bytes.iter().all(|&byte| byte == tag))
        {
            return Err(format!(
                "{id} does not hold what was just written: {seen:?}\n"
            ));
        }
    }
    Ok(())
}

fn file_name(directory: FileId, number: u8) -> Name {
    Name::new(format!("{directory}.{number}")).unwrap_or(Name::least())
}

/// Moves everything to another directory.
async fn move_all(core: &Core, from: FileId, to: FileId) -> Result<(), String> {
    let Outcome::Listing(entries) = run(core, list(from)).await? else {
        return Err(String::from("no listing\n"));
    };
    for entry in entries {
        let rename = Operation::Rename {
            directory: from,
            name: entry.name.clone(),
            new_directory: to,
            new_name: entry.name,
            flags: RenameFlags::default(),
        };
        run(core, rename).await?;
    }
    Ok(())
}

const fn list(directory: FileId) -> Operation {
    Operation::ReadDirectory {
        directory,
        page: 100,
    }
}

async fn listed(core: &Core, directory: FileId, count: usize) -> Result<(), String> {
    match run(core, list(directory)).await? {
        Outcome::Listing(entries) if entries.len() == count => Ok(()),
        other => Err(format!(
            "{directory} should have {count} names: {other:?}\n"
        )),
    }
}

/// The listings of all servers for a check of the file system.
pub(super) async fn inspect(core: &Core, map: &ClusterMap) -> Result<Vec<Listing>, String> {
    let mut listings = Vec::new();
    for server in map.servers() {
        listings.push(inspect_one(core, server).await?);
    }
    Ok(listings)
}

async fn inspect_one(core: &Core, server: ServerId) -> Result<Listing, String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let request = Request::Inspect {
            after,
            records_max: u32::MAX,
        };
        let sequence = core.context().next_sequence();
        let answer = core
            .context()
            .call(server, sequence, request, Default::default())
            .await;
        let Ok((Reply::Records { records, next }, _)) = answer else {
            return Err(format!("{server} cannot be inspected: {answer:?}\n"));
        };
        all.extend(records);
        after = next;
        if after.is_none() {
            return Ok(Listing {
                server,
                records: all,
            });
        }
    }
}
