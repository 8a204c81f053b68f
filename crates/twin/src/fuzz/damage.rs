//! Damage of disks: bits of data change while nothing is under way. A read that meets them is an
//! error of its file alone, and no read returns other data than was written.

use super::perform;
use super::run::{Failure, FailureKind, Run, failure};
use crate::cluster::{Ending, Event, Mark};
use crate::model::{Content, File, Observed, Operation, Outcome};
use crate::random::Random;
use futago_base::{Duration, Errno, FileId, Kind, ServerId};
use std::collections::BTreeSet;

/// The most bytes of a file that are read.
const READ_MAX: u64 = 1 << 20;
/// So many of 1,000 servers have damage.
const DAMAGED_PERMILLE: u32 = 500;

impl Run {
    /// Damages data on the disks of servers, and reads all files.
    pub(super) fn damage(&mut self) -> Result<(), Failure> {
        if !self.has_damage {
            return Ok(());
        }
        let damaged = self.damage_disks();
        let files = self.regular_files();
        let reads: Vec<Operation> = files.iter().map(|(id, file)| read(*id, file)).collect();
        let found = self.finish(|core| async move {
            let mut found = Vec::new();
            for read in reads {
                found.push(perform(&core, &read).await);
            }
            Ok(found)
        })?;
        for ((id, file), found) in files.iter().zip(found) {
            self.note_if(found == Err(Errno::EIO), Mark::DamageRead);
            judge(*id, file, &found, damaged.contains(id))?;
        }
        Ok(())
    }

    /// Changes bits while the servers are stopped. Returns the files that have damage.
    fn damage_disks(&mut self) -> BTreeSet<FileId> {
        let mut random = Random::new(self.seed, 6000);
        self.have_all(|server| Event::Stop(server, Ending::Process));
        self.world.run(Duration(1), |_| false);
        let servers = self.world.cluster.servers.iter_mut();
        let mut damaged = BTreeSet::new();
        for server in servers {
            if random.chance(DAMAGED_PERMILLE) {
                damaged.extend(server.damage(&mut random));
            }
        }
        self.have_all(Event::Resume);
        self.world.run(self.network_time(), |_| false);
        damaged
    }

    /// Has an event happen to all servers.
    fn have_all(&mut self, event: impl Fn(ServerId) -> Event) {
        let servers = self.world.cluster.map.servers();
        let events = servers.map(|server| (Duration(0), event(server)));
        let events = events.collect();
        self.world.schedule(events);
    }

    fn regular_files(&self) -> Vec<(FileId, File)> {
        let nodes = self.tree.nodes.values();
        let files = nodes.filter_map(|node| Some((node.id?, node.file()?.clone())));
        files.filter(|(_, file)| file.kind == Kind::File).collect()
    }
}

fn read(id: FileId, file: &File) -> Operation {
    Operation::Read {
        id,
        offset: 0,
        length: file.size.min(READ_MAX) as u32,
    }
}

/// Whether a file has what was written to it, or is refused because of its damage.
fn judge(id: FileId, file: &File, found: &Observed, is_damaged: bool) -> Result<(), Failure> {
    let length = file.size.min(READ_MAX);
    match found {
        Ok(Outcome::Bytes(bytes)) => {
            let content = Content::of_bytes(0, bytes);
            if content == file.data.within(0, length) && bytes.len() as u64 == length {
                return Ok(());
            }
            let text = format!("with damaged disks, {id} has {content:?}\n");
            Err(failure(FailureKind::Order, text))
        }
        Err(Errno::EIO) if is_damaged => Ok(()),
        other => {
            let text = format!("with damage of other data, {id} has {other:?}\n");
            Err(failure(FailureKind::Error, text))
        }
    }
}
