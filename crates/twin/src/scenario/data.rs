//! Transfers of large files.

use crate::world::{self, Activity, Amount, Place};
use bytesize::ByteSize;
use futago_lab::document::Problem;
use futago_lab::workload::{Access, FileLayout, IoPhase, IoWorkload};
use serde::Deserialize;

/// The distribution of the data of clients over files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Files {
    /// One file for each client.
    #[default]
    Own,
    /// One file for all clients, of which each has its blocks.
    Shared,
    /// One file, all of which every client reads.
    Common,
}

/// The transfers of large files.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Whether it is written or read.
    pub operation: IoPhase,
    /// A file for each client, or one for all.
    #[serde(default)]
    pub file: Files,
    /// The order of transfers.
    #[serde(default)]
    pub access: Access,
    /// Whether all clients together read a common file once, in a new order in each repetition.
    #[serde(default)]
    pub shuffled: bool,
    /// The data of each client.
    #[serde(default = "size")]
    pub size: ByteSize,
    /// The data of one operation.
    #[serde(default = "transfer")]
    pub transfer: ByteSize,
    /// The bytes of one client that lie together in a shared file, and that strided transfers skip;
    /// by default the size of a transfer.
    #[serde(default)]
    pub block: Option<ByteSize>,
}

const fn size() -> ByteSize {
    ByteSize::mib(64)
}

const fn transfer() -> ByteSize {
    ByteSize::mib(1)
}

impl Data {
    /// Whether it makes sense, in a phase with or without a shared directory, and a mix beside.
    pub(super) fn check(&self, shared: bool, mixed: bool) -> Result<(), Problem> {
        if mixed {
            let text = "a phase has operations on names, `mix`, or transfers, `data`, not both";
            return Err(Problem::new(text));
        }
        if self.file == Files::Common && self.operation == IoPhase::Write {
            let problem = Problem::new("a common file is only read");
            return Err(problem.inside("file"));
        }
        if self.file != Files::Own && !shared {
            let problem = Problem::new("a shared file needs a directory that all clients share");
            let problem = problem.suggest("say `directory = …` in the phase");
            return Err(problem.inside("file"));
        }
        if self.shuffled && (self.file != Files::Common || self.access != Access::Sequential) {
            let problem = Problem::new("only a common file has orders, and no `access` besides");
            return Err(problem.inside("shuffled"));
        }
        let checked = self.workload(1).check();
        checked.map_err(|mistake| Problem::new(mistake.reason).inside(mistake.of))
    }

    fn workload(&self, clients: u32) -> IoWorkload {
        let is_common = self.file == Files::Common;
        IoWorkload {
            clients: if is_common { 1 } else { clients },
            size_bytes: self.size.as_u64(),
            transfer_bytes: u32::try_from(self.transfer.as_u64()).unwrap_or(u32::MAX),
            block_bytes: self.block.unwrap_or(self.transfer).as_u64(),
            file: match self.file {
                Files::Own => FileLayout::Own,
                Files::Shared | Files::Common => FileLayout::Shared,
            },
            access: self.access,
        }
    }

    /// The activity for this number of clients, after other phases. Data that no earlier phase has
    /// written is written before it is read.
    pub(super) fn activity(
        &self,
        clients: u32,
        place: Place,
        earlier: &[world::Phase],
    ) -> world::Data {
        let workload = self.workload(clients);
        let written = |phase: &world::Phase| phase.place == place && writes_all(phase, &workload);
        let fill = self.operation == IoPhase::Read && !earlier.iter().any(written);
        world::Data {
            phase: self.operation,
            workload,
            fill,
            shuffled: self.shuffled,
        }
    }
}

/// Whether a phase writes every byte of what a workload reads.
fn writes_all(phase: &world::Phase, read: &IoWorkload) -> bool {
    let Activity::Data(data) = &phase.activity else {
        return false;
    };
    let written = &data.workload;
    let same_places = written.file == read.file
        && (read.file == FileLayout::Own || written.block_bytes == read.block_bytes);
    let each = matches!(phase.amount, Amount::Operations(n) if n >= written.transfer_count());
    data.phase == IoPhase::Write
        && written.clients == read.clients
        && same_places
        && each
        && written.size_bytes >= read.size_bytes
}
