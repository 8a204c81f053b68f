//! Large files: write them and read another client's (the pattern of IOR).

use super::{Contents, neighbour, shuffled};
use serde::{Deserialize, Serialize};

/// Large files, or one that all share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoWorkload {
    /// Number of clients.
    pub clients: u32,
    /// What each client writes and reads, in bytes.
    pub size_bytes: u64,
    /// Bytes a transfer; the last one of a client may be shorter.
    pub transfer_bytes: u32,
    /// All clients in one file, their transfers taking turns, instead of a file each.
    pub shared_file: bool,
    /// Transfers in a random order, each once, instead of one after the other.
    pub random: bool,
}

/// The phases, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoPhase {
    /// Every client writes its data.
    Write,
    /// Every client reads its neighbour's data.
    Read,
}

impl IoPhase {
    /// The phases.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

impl IoWorkload {
    /// Whose data a client handles in a phase.
    pub const fn owner(&self, phase: IoPhase, client: u32) -> u32 {
        match phase {
            IoPhase::Write => client,
            IoPhase::Read => neighbour(client, self.clients),
        }
    }

    /// The files of the run, relative to its directory.
    pub fn files(&self) -> Vec<String> {
        let count = if self.shared_file { 1 } else { self.clients };
        (0..count).map(|owner| self.path(owner)).collect()
    }

    /// The file that holds an owner's data.
    pub fn path(&self, owner: u32) -> String {
        if self.shared_file {
            "shared".to_owned()
        } else {
            format!("client-{owner}")
        }
    }

    /// What the owner's file holds.
    pub const fn contents(&self, owner: u32) -> Contents {
        Contents::of(if self.shared_file { 0 } else { owner }, 0)
    }

    /// The transfers of an owner's data, in their order.
    pub fn transfers(&self, owner: u32) -> impl Iterator<Item = Transfer> + use<> {
        let workload = *self;
        let transfer_bytes = u64::from(self.transfer_bytes.max(1));
        let count = self.size_bytes.div_ceil(transfer_bytes);
        let order = self.random.then(|| shuffled(count, u64::from(owner)));
        (0..count).map(move |number| {
            let number = order
                .as_ref()
                .map_or(number, |order| order[number as usize]);
            workload.transfer(owner, number)
        })
    }

    fn transfer(&self, owner: u32, number: u64) -> Transfer {
        let transfer_bytes = u64::from(self.transfer_bytes.max(1));
        let length = transfer_bytes.min(self.size_bytes - number * transfer_bytes);
        let place = if self.shared_file {
            number * u64::from(self.clients) + u64::from(owner)
        } else {
            number
        };
        Transfer {
            offset: place * transfer_bytes,
            length: length as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: IoWorkload = IoWorkload {
        clients: 2,
        size_bytes: 1000,
        transfer_bytes: 100,
        shared_file: false,
        random: false,
    };

    fn covered(workload: IoWorkload, owners: &[u32]) -> Vec<(u64, u32)> {
        let mut pieces: Vec<(u64, u32)> = owners
            .iter()
            .flat_map(|&owner| workload.transfers(owner))
            .map(|transfer| (transfer.offset, transfer.length))
            .collect();
        pieces.sort_unstable();
        pieces
    }

    #[test]
    fn transfers_of_an_own_file_cover_it_once_in_any_order() {
        let random = IoWorkload {
            random: true,
            ..PLAIN
        };
        let expected: Vec<_> = (0..10).map(|number| (number * 100, 100)).collect();
        assert_eq!(covered(PLAIN, &[0]), expected);
        assert_eq!(covered(random, &[0]), expected);
        assert!(random.transfers(0).ne(PLAIN.transfers(0)));
        assert!(random.transfers(0).eq(random.transfers(0)));
    }

    #[test]
    fn transfers_of_a_shared_file_take_turns() {
        let shared = IoWorkload {
            shared_file: true,
            ..PLAIN
        };
        let expected: Vec<_> = (0..20).map(|number| (number * 100, 100)).collect();
        assert_eq!(covered(shared, &[0, 1]), expected);
        assert_eq!(shared.transfers(1).next().map(|t| t.offset), Some(100));
        assert_eq!(shared.path(0), shared.path(1));
        assert_eq!(shared.contents(0), shared.contents(1));
    }

    #[test]
    fn the_last_transfer_may_be_short() {
        let odd = IoWorkload {
            size_bytes: 250,
            ..PLAIN
        };
        let lengths: Vec<u32> = odd.transfers(0).map(|transfer| transfer.length).collect();
        assert_eq!(lengths, [100, 100, 50]);
    }

    #[test]
    fn a_client_reads_what_the_other_wrote() {
        assert_eq!(PLAIN.owner(IoPhase::Write, 1), 1);
        assert_eq!(PLAIN.owner(IoPhase::Read, 1), 0);
        assert_eq!(PLAIN.owner(IoPhase::Read, 0), 1);
    }
}
