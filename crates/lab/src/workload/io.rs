//! Large files: each client writes its own and reads those of another (the pattern of IOR).

use super::{contents, neighbour, permutation::Permutation};
use futago_base::Pattern;
use serde::{Deserialize, Serialize};

/// Large files, or one shared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoWorkload {
    /// Number of clients.
    pub clients: u32,
    /// The data of each client, in bytes.
    pub size_bytes: u64,
    /// The size of a transfer, in bytes; the last one of a client may be shorter.
    pub transfer_bytes: u32,
    /// The contiguous data of one client in a shared file, and the stride of strided transfers, in
    /// bytes; a multiple of the transfer.
    pub block_bytes: u64,
    /// The distribution of the data over files.
    pub file: FileLayout,
    /// The order of transfers.
    pub access: Access,
}

/// The distribution of the data of clients over files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileLayout {
    /// One file for each client.
    #[default]
    Own,
    /// One file for all clients, with interleaved blocks.
    Shared,
}

/// The order of the transfers of a client; each is made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// In the order of offsets.
    #[default]
    Sequential,
    /// The first of every block, then the second of every block, and so on.
    Strided,
    /// A random order that depends only on the client.
    Random,
}

/// The phases, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoPhase {
    /// Every client writes its data.
    Write,
    /// Every client reads the data of its neighbour.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The length in bytes.
    pub length: u32,
}

/// An invalid size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The size: `size`, `transfer` or `block`.
    pub of: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// The largest transfer, in bytes.
pub const TRANSFER_BYTES_MAX: u32 = 1 << 30;

/// The largest size of one client's data, in bytes: all clients' offsets fit in a file.
pub const SIZE_BYTES_MAX: u64 = 1 << 42;

impl IoWorkload {
    /// Checks the sizes.
    ///
    /// # Errors
    ///
    /// The first invalid size.
    pub const fn check(&self) -> Result<(), Mistake> {
        let (of, reason) = if self.size_bytes == 0 || self.size_bytes > SIZE_BYTES_MAX {
            ("size", "must be between 1 byte and 4 TiB")
        } else if self.transfer_bytes == 0 || self.transfer_bytes > TRANSFER_BYTES_MAX {
            ("transfer", "must be between 1 byte and 1 GiB")
        } else if self.block_bytes == 0 || self.block_bytes > SIZE_BYTES_MAX {
            ("block", "must be between 1 byte and 4 TiB")
        } else if !self.block_bytes.is_multiple_of(self.transfer_bytes as u64) {
            ("block", "must be a multiple of the transfer size")
        } else {
            return Ok(());
        };
        Err(Mistake { of, reason })
    }

    /// The client whose data a client handles in a phase.
    pub const fn owner(&self, phase: IoPhase, client: u32) -> u32 {
        match phase {
            IoPhase::Write => client,
            IoPhase::Read => neighbour(client, self.clients),
        }
    }

    /// The files of the run, relative to its directory.
    pub fn files(&self) -> Vec<String> {
        let count = match self.file {
            FileLayout::Shared => 1,
            FileLayout::Own => self.clients,
        };
        (0..count).map(|owner| self.path(owner)).collect()
    }

    /// The file with the data of an owner.
    pub fn path(&self, owner: u32) -> String {
        match self.file {
            FileLayout::Shared => "shared".to_owned(),
            FileLayout::Own => format!("client-{owner}"),
        }
    }

    /// The contents of the file of an owner.
    pub const fn contents(&self, owner: u32) -> Pattern {
        match self.file {
            FileLayout::Shared => contents(0, 0),
            FileLayout::Own => contents(owner, 0),
        }
    }

    /// The number of transfers of each client.
    pub const fn transfer_count(&self) -> u64 {
        self.size_bytes.div_ceil(self.transfer_bytes as u64)
    }

    /// The transfers of the data of an owner, in their order.
    pub fn transfers(&self, owner: u32) -> impl Iterator<Item = Transfer> + use<> {
        let workload = *self;
        (0..self.transfer_count()).map(move |number| workload.transfer(owner, number))
    }

    /// The transfer number `number` of the data of an owner; after the last one it begins anew.
    pub fn transfer(&self, owner: u32, number: u64) -> Transfer {
        let number = number % self.transfer_count();
        let position = match self.access {
            Access::Sequential => number,
            Access::Strided => self.strided(number),
            Access::Random => Permutation::new(self.transfer_count(), owner.into()).at(number),
        };
        let begin = position * u64::from(self.transfer_bytes);
        let length = u64::from(self.transfer_bytes).min(self.size_bytes - begin);
        Transfer {
            offset: self.offset(owner, begin),
            length: length as u32,
        }
    }

    /// The transfer number `number` in the random order number `order` of all transfers of the only
    /// client; after the last one it begins anew.
    pub fn shuffled(&self, order: u64, number: u64) -> Transfer {
        let count = self.transfer_count();
        let position = Permutation::new(count, order).at(number % count);
        let in_order = Self {
            access: Access::Sequential,
            ..*self
        };
        in_order.transfer(0, position)
    }

    /// The position of a strided transfer in the data of an owner; the last block may have fewer
    /// than the others.
    const fn strided(&self, number: u64) -> u64 {
        let in_block = self.block_bytes / self.transfer_bytes as u64;
        let blocks = self.transfer_count().div_ceil(in_block);
        let in_last = self.transfer_count() - (blocks - 1) * in_block;
        let (row, block) = match number.checked_sub(in_last * blocks) {
            None => (number / blocks, number % blocks),
            Some(rest) => (in_last + rest / (blocks - 1), rest % (blocks - 1)),
        };
        block * in_block + row
    }

    /// The offset in its file of a byte of the data of an owner.
    const fn offset(&self, owner: u32, at: u64) -> u64 {
        match self.file {
            FileLayout::Own => at,
            FileLayout::Shared => {
                let (block, within) = (at / self.block_bytes, at % self.block_bytes);
                (block * self.clients as u64 + owner as u64) * self.block_bytes + within
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: IoWorkload = IoWorkload {
        clients: 2,
        size_bytes: 1000,
        transfer_bytes: 100,
        block_bytes: 100,
        file: FileLayout::Own,
        access: Access::Sequential,
    };

    fn workload() -> impl Strategy<Value = IoWorkload> {
        let file = prop_oneof![Just(FileLayout::Own), Just(FileLayout::Shared)];
        let access = prop_oneof![
            Just(Access::Sequential),
            Just(Access::Strided),
            Just(Access::Random)
        ];
        let sizes = (1..4_u32, 1..500_u64, 1..40_u32, 1..6_u64);
        (sizes, file, access).prop_map(
            |((clients, size_bytes, transfer_bytes, count), file, access)| IoWorkload {
                clients,
                size_bytes,
                transfer_bytes,
                block_bytes: u64::from(transfer_bytes) * count,
                file,
                access,
            },
        )
    }

    proptest! {
        #[test]
        fn every_client_has_its_bytes_once_and_nobody_anothers(workload in workload()) {
            let mut seen = std::collections::BTreeSet::new();
            for owner in 0..workload.clients {
                for Transfer { offset, length } in workload.transfers(owner) {
                    prop_assert!(length > 0);
                    for at in offset..offset + u64::from(length) {
                        prop_assert!(seen.insert((workload.path(owner), at)), "{owner} {at}");
                    }
                }
            }
            let expected = workload.size_bytes * u64::from(workload.clients);
            prop_assert_eq!(seen.len() as u64, expected);
        }
    }

    #[test]
    fn every_order_has_every_transfer_once() {
        let workload = IoWorkload {
            clients: 1,
            ..PLAIN
        };
        let order = |order| -> Vec<u64> {
            let numbers = 0..workload.transfer_count();
            numbers
                .map(|number| workload.shuffled(order, number).offset)
                .collect()
        };
        let sorted = |mut order: Vec<u64>| {
            order.sort_unstable();
            order
        };
        assert_ne!(order(1), order(2));
        assert_eq!(sorted(order(1)), sorted(order(2)));
        assert_eq!(sorted(order(1)), offsets_of_bytes(workload));
    }

    fn offsets_of_bytes(workload: IoWorkload) -> Vec<u64> {
        let transfers = workload.transfers(0);
        transfers.map(|transfer| transfer.offset).collect()
    }

    fn offsets(workload: IoWorkload, owner: u32) -> Vec<u64> {
        let transfers = workload.transfers(owner);
        transfers.map(|transfer| transfer.offset / 100).collect()
    }

    #[test]
    fn orders_are_what_they_are_called() {
        let strided = IoWorkload {
            access: Access::Strided,
            block_bytes: 400,
            ..PLAIN
        };
        assert_eq!(offsets(PLAIN, 0), (0..10).collect::<Vec<_>>());
        assert_eq!(offsets(strided, 0), [0, 4, 8, 1, 5, 9, 2, 6, 3, 7]);
        let random = IoWorkload {
            access: Access::Random,
            ..PLAIN
        };
        assert_ne!(offsets(random, 0), offsets(PLAIN, 0));
        assert_ne!(offsets(random, 0), offsets(random, 1));
        assert_eq!(PLAIN.transfer(0, 13), PLAIN.transfer(0, 3));
    }

    #[test]
    fn blocks_of_a_shared_file_are_interleaved() {
        let shared = IoWorkload {
            file: FileLayout::Shared,
            block_bytes: 200,
            size_bytes: 400,
            ..PLAIN
        };
        assert_eq!(offsets(shared, 0), [0, 1, 4, 5]);
        assert_eq!(offsets(shared, 1), [2, 3, 6, 7]);
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

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        let mistake = |workload: IoWorkload| workload.check().map_err(|mistake| mistake.of);
        assert_eq!(mistake(PLAIN), Ok(()));
        assert_eq!(
            mistake(IoWorkload {
                size_bytes: 0,
                ..PLAIN
            }),
            Err("size")
        );
        assert_eq!(
            mistake(IoWorkload {
                transfer_bytes: 0,
                ..PLAIN
            }),
            Err("transfer")
        );
        assert_eq!(
            mistake(IoWorkload {
                block_bytes: 150,
                ..PLAIN
            }),
            Err("block")
        );
    }
}
