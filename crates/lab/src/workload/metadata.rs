//! Many small files: each client makes its own, asks for and reads those of another, and removes
//! its own (the pattern of mdtest).

use super::{contents, neighbour};
use serde::{Deserialize, Serialize};

/// Many small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataWorkload {
    /// Number of clients.
    pub clients: u32,
    /// Files of each client.
    pub files: u64,
    /// Whether all clients use one directory instead of one each.
    pub shared_directory: bool,
    /// The size of each file in bytes.
    pub bytes: u32,
}

/// The phases, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetadataPhase {
    /// Every client makes its files.
    Create,
    /// Every client asks for the attributes of the files of its neighbour.
    Stat,
    /// Every client reads the files of its neighbour.
    Read,
    /// Every client removes its files.
    Unlink,
}

impl MetadataPhase {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Stat => "stat",
            Self::Read => "read",
            Self::Unlink => "unlink",
        }
    }
}

impl MetadataWorkload {
    /// The phases; empty files are not read.
    pub fn phases(&self) -> Vec<MetadataPhase> {
        let all = [
            MetadataPhase::Create,
            MetadataPhase::Stat,
            MetadataPhase::Read,
            MetadataPhase::Unlink,
        ];
        all.into_iter()
            .filter(|phase| self.bytes > 0 || *phase != MetadataPhase::Read)
            .collect()
    }

    /// The directories that must exist before the first phase, and are removed after the last.
    pub fn directories(&self) -> Vec<String> {
        if self.shared_directory {
            return vec!["shared".to_owned()];
        }
        (0..self.clients)
            .map(|client| format!("client-{client}"))
            .collect()
    }

    /// The client whose files a client handles in a phase.
    pub const fn owner(&self, phase: MetadataPhase, client: u32) -> u32 {
        match phase {
            MetadataPhase::Create | MetadataPhase::Unlink => client,
            MetadataPhase::Stat | MetadataPhase::Read => neighbour(client, self.clients),
        }
    }

    /// The path of a file, relative to the directory of the run.
    pub fn path(&self, owner: u32, index: u64) -> String {
        if self.shared_directory {
            format!("shared/{owner}-{index}")
        } else {
            format!("client-{owner}/{index}")
        }
    }

    /// The contents of a file.
    pub fn contents(&self, owner: u32, index: u64) -> Vec<u8> {
        let mut data = vec![0; self.bytes as usize];
        contents(owner, index).fill(0, &mut data);
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn workload(shared_directory: bool) -> MetadataWorkload {
        MetadataWorkload {
            clients: 3,
            files: 10,
            shared_directory,
            bytes: 5,
        }
    }

    #[test]
    fn every_file_has_a_path_of_its_own_in_a_directory_that_is_made() {
        for workload in [workload(true), workload(false)] {
            let paths: BTreeSet<String> = (0..3)
                .flat_map(|client| (0..10).map(move |index| workload.path(client, index)))
                .collect();
            assert_eq!(paths.len(), 30);
            for path in paths {
                let (directory, _) = path.split_once('/').unwrap();
                assert!(workload.directories().contains(&directory.to_owned()));
            }
        }
    }

    #[test]
    fn every_client_looks_at_files_of_another_and_all_are_looked_at() {
        let workload = workload(false);
        let owners: BTreeSet<u32> = (0..3)
            .map(|client| {
                let owner = workload.owner(MetadataPhase::Stat, client);
                assert_ne!(owner, client);
                owner
            })
            .collect();
        assert_eq!(owners.len(), 3);
        assert_eq!(workload.owner(MetadataPhase::Unlink, 2), 2);
    }

    #[test]
    fn empty_files_are_not_read() {
        let mut workload = workload(true);
        workload.bytes = 0;
        assert!(!workload.phases().contains(&MetadataPhase::Read));
    }
}
