//! The files of a run, and what each rank does with them.

use super::Io500Phase;
use crate::workload::{Permutation, Transfer, contents};
use futago_base::Pattern;
use serde::{Deserialize, Serialize};

/// Bytes a transfer of ior-rnd4K-easy-read.
const RANDOM_TRANSFER_BYTES: u64 = 4096;
/// Bytes a file of mdtest-hard.
const HARD_FILE_BYTES: u32 = 3901;
/// The part of a name that the search looks for.
const WANTED: &str = "01";

/// The most that a rank does. The rules have more than a rank can do before the stonewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io500Limits {
    /// Transfers of 2 MiB in ior-easy.
    pub easy_transfers: u64,
    /// Records of 47,008 bytes in ior-hard.
    pub hard_transfers: u64,
    /// Files in mdtest-easy, and in mdtest-hard.
    pub files: u64,
}

impl Io500Limits {
    /// Those of the rules: 9,920,000 MiB, 10,000,000 records and 1,000,000 files.
    pub const OFFICIAL: Self = Self {
        easy_transfers: 4_960_000,
        hard_transfers: 10_000_000,
        files: 1_000_000,
    };
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io500Plan {
    /// How many ranks.
    pub ranks: u32,
    /// The time limit of writing phases, in seconds.
    pub stonewall_s: u32,
    /// The most that a rank does.
    pub limits: Io500Limits,
}

impl Io500Plan {
    /// Bytes a transfer of ior-easy.
    pub const EASY_TRANSFER_BYTES: u64 = 2 << 20;
    /// Bytes a transfer of ior-hard: a length that fits no block of any system.
    pub const HARD_TRANSFER_BYTES: u64 = 47_008;

    /// The directories, parents first.
    pub fn directories(&self) -> Vec<String> {
        let fixed = [
            "ior-easy",
            "ior-hard",
            "mdtest-easy",
            "mdtest-easy/test-dir.0-0",
            "mdtest-hard",
            "mdtest-hard/test-dir.0-0",
            "mdtest-hard/test-dir.0-0/mdtest_tree.0",
        ];
        let own = (0..self.ranks).map(easy_directory);
        fixed.map(str::to_owned).into_iter().chain(own).collect()
    }

    /// The large files.
    pub fn large_files(&self) -> Vec<String> {
        let easy = (0..self.ranks).map(easy_file);
        easy.chain([HARD_FILE.to_owned()]).collect()
    }

    /// The rank whose files a rank handles in a phase.
    pub const fn owner(&self, phase: Io500Phase, rank: u32) -> u32 {
        ((rank as u64 + phase.shift() as u64) % self.ranks as u64) as u32
    }

    /// The most operations of a rank in a phase that ends at the stonewall.
    pub const fn limit(&self, phase: Io500Phase) -> u64 {
        match phase {
            Io500Phase::IorEasyWrite => self.limits.easy_transfers,
            Io500Phase::IorHardWrite => self.limits.hard_transfers,
            // As many as the rules have.
            Io500Phase::IorRandomRead => 10_000_000,
            _ => self.limits.files,
        }
    }

    /// The large file of an owner that a phase handles, and its contents.
    pub fn large_file(phase: Io500Phase, owner: u32) -> (String, Pattern) {
        match phase {
            Io500Phase::IorHardWrite | Io500Phase::IorHardRead => {
                (HARD_FILE.to_owned(), contents(u32::MAX, 0))
            }
            _ => (easy_file(owner), contents(owner, 0)),
        }
    }

    /// Transfer `index` of an owner. Random reads choose from `written` transfers of 2 MiB, which
    /// each file of ior-easy has.
    pub fn transfer(&self, phase: Io500Phase, owner: u32, index: u64, written: u64) -> Transfer {
        let (position, length) = match phase {
            Io500Phase::IorHardWrite | Io500Phase::IorHardRead => {
                let record = index * u64::from(self.ranks) + u64::from(owner);
                (record, Self::HARD_TRANSFER_BYTES)
            }
            Io500Phase::IorRandomRead => {
                (random_block(owner, index, written), RANDOM_TRANSFER_BYTES)
            }
            _ => (index, Self::EASY_TRANSFER_BYTES),
        };
        Transfer {
            offset: position * length,
            length: length as u32,
        }
    }

    /// The path of small file `index` of an owner.
    pub fn small_file(phase: Io500Phase, owner: u32, index: u64) -> String {
        let directory = if is_hard(phase) {
            HARD_DIRECTORY.to_owned()
        } else {
            easy_directory(owner)
        };
        format!("{directory}/{}", small_name(owner, index))
    }

    /// The contents of small file `index` of an owner; none in mdtest-easy.
    pub fn small_contents(phase: Io500Phase, owner: u32, index: u64) -> Vec<u8> {
        let length = if is_hard(phase) { HARD_FILE_BYTES } else { 0 };
        let mut data = vec![0; length as usize];
        contents(owner, index + 1).fill(0, &mut data);
        data
    }

    /// The part that the name of a wanted file has, and its size in bytes.
    pub const fn wanted() -> (&'static str, u64) {
        (WANTED, HARD_FILE_BYTES as u64)
    }

    /// How many files the search must find when each rank has made so many in mdtest-hard.
    pub fn wanted_files(&self, files: u64) -> u64 {
        let names = (0..self.ranks).flat_map(|rank| (0..files).map(move |i| small_name(rank, i)));
        names.filter(|name| name.contains(WANTED)).count() as u64
    }

    /// How many entries the search passes, with so many small files of each rank of either kind.
    pub fn entries(&self, easy_files: u64, hard_files: u64) -> u64 {
        let small = u64::from(self.ranks) * (easy_files + hard_files);
        let large_and_directories = self.large_files().len() + self.directories().len();
        // The directory of the run, and the file whose time says what is new.
        small + large_and_directories as u64 + 2
    }
}

const HARD_FILE: &str = "ior-hard/file";
const HARD_DIRECTORY: &str = "mdtest-hard/test-dir.0-0/mdtest_tree.0";

const fn is_hard(phase: Io500Phase) -> bool {
    matches!(
        phase,
        Io500Phase::MdtestHardWrite
            | Io500Phase::MdtestHardStat
            | Io500Phase::MdtestHardRead
            | Io500Phase::MdtestHardDelete
    )
}

fn easy_file(rank: u32) -> String {
    format!("ior-easy/ior_file_easy.{rank:08}")
}

fn easy_directory(rank: u32) -> String {
    format!("mdtest-easy/test-dir.0-0/mdtest_tree.{rank}.0")
}

fn small_name(rank: u32, index: u64) -> String {
    format!("file.mdtest.{rank}.{index}")
}

/// The block of random read `index`: each block of the file once, then all of them again.
fn random_block(owner: u32, index: u64, written: u64) -> u64 {
    let blocks = written * (Io500Plan::EASY_TRANSFER_BYTES / RANDOM_TRANSFER_BYTES);
    Permutation::new(blocks.max(1), u64::from(owner)).at(index % blocks.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PLAN: Io500Plan = Io500Plan {
        ranks: 4,
        stonewall_s: 1,
        limits: Io500Limits::OFFICIAL,
    };

    #[test]
    fn records_of_the_shared_file_do_not_overlap_and_leave_no_hole() {
        let mut offsets = BTreeSet::new();
        for owner in 0..4 {
            for index in 0..10 {
                let transfer = PLAN.transfer(Io500Phase::IorHardWrite, owner, index, 0);
                assert_eq!(transfer.length, 47_008);
                assert!(offsets.insert(transfer.offset));
            }
        }
        assert!(
            offsets
                .into_iter()
                .eq((0..40).map(|record| record * 47_008))
        );
    }

    #[test]
    fn every_small_file_is_handled_once_in_every_phase() {
        for phase in [
            Io500Phase::MdtestHardStat,
            Io500Phase::MdtestHardRead,
            Io500Phase::MdtestEasyDelete,
        ] {
            let owners: BTreeSet<u32> = (0..4).map(|rank| PLAN.owner(phase, rank)).collect();
            assert_eq!(owners.len(), 4);
            assert_ne!(PLAN.owner(phase, 0), 0);
        }
    }

    #[test]
    fn random_reads_stay_inside_the_file_and_pass_all_of_it() {
        let read = |index| PLAN.transfer(Io500Phase::IorRandomRead, 1, index, 2);
        let offsets: BTreeSet<u64> = (0..1024).map(|index| read(index).offset).collect();
        assert_eq!(offsets.len(), 1024);
        assert_eq!(offsets.last(), Some(&((4 << 20) - 4096)));
        assert_eq!(read(1024), read(0));
    }

    #[test]
    fn files_that_the_search_must_find_have_01_in_their_name() {
        // Of one rank: 01 is in no number below 100, then in 101, 201, ... and in rank 0's none.
        let one = Io500Plan { ranks: 1, ..PLAN };
        assert_eq!(one.wanted_files(100), 0);
        assert_eq!(one.wanted_files(1000), 9);
    }

    #[test]
    fn directories_come_before_what_is_in_them() {
        let directories = PLAN.directories();
        for (index, path) in directories.iter().enumerate() {
            if let Some((parent, _)) = path.rsplit_once('/') {
                assert!(directories[..index].iter().any(|earlier| earlier == parent));
            }
        }
    }
}
