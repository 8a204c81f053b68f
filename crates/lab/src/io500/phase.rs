//! The phases, in the order of the rules.

use serde::{Deserialize, Serialize};

/// The score that a phase counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreGroup {
    /// Bandwidth, in GiB/s.
    Bandwidth,
    /// Metadata, in thousands of operations a second.
    Metadata,
    /// No score; the value is a bandwidth.
    Unscored,
}

/// A phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Io500Phase {
    /// Every rank writes a file of its own.
    IorEasyWrite,
    /// Every rank makes empty files in a directory of its own.
    MdtestEasyWrite,
    /// All ranks write records of 47,008 bytes to one file.
    IorHardWrite,
    /// All ranks make files of 3,901 bytes in one directory.
    MdtestHardWrite,
    /// A search through everything.
    Find,
    /// Every rank reads the file of the next rank.
    IorEasyRead,
    /// Every rank asks for the attributes of the next rank's empty files.
    MdtestEasyStat,
    /// Every rank reads the records of the next rank.
    IorHardRead,
    /// Every rank asks for the attributes of the next rank's small files.
    MdtestHardStat,
    /// Empty files are removed by another rank.
    MdtestEasyDelete,
    /// Small files are read by another rank.
    MdtestHardRead,
    /// Small files are removed by another rank.
    MdtestHardDelete,
    /// Random reads of 4 KiB, which end at the stonewall.
    #[serde(rename = "ior-rnd4K-easy-read")]
    IorRandomRead,
}

impl Io500Phase {
    /// The phases, in their order.
    pub const ALL: [Self; 13] = [
        Self::IorEasyWrite,
        Self::MdtestEasyWrite,
        Self::IorHardWrite,
        Self::MdtestHardWrite,
        Self::Find,
        Self::IorEasyRead,
        Self::MdtestEasyStat,
        Self::IorHardRead,
        Self::MdtestHardStat,
        Self::MdtestEasyDelete,
        Self::MdtestHardRead,
        Self::MdtestHardDelete,
        Self::IorRandomRead,
    ];

    /// The official name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IorEasyWrite => "ior-easy-write",
            Self::MdtestEasyWrite => "mdtest-easy-write",
            Self::IorHardWrite => "ior-hard-write",
            Self::MdtestHardWrite => "mdtest-hard-write",
            Self::Find => "find",
            Self::IorEasyRead => "ior-easy-read",
            Self::MdtestEasyStat => "mdtest-easy-stat",
            Self::IorHardRead => "ior-hard-read",
            Self::MdtestHardStat => "mdtest-hard-stat",
            Self::MdtestEasyDelete => "mdtest-easy-delete",
            Self::MdtestHardRead => "mdtest-hard-read",
            Self::MdtestHardDelete => "mdtest-hard-delete",
            Self::IorRandomRead => "ior-rnd4K-easy-read",
        }
    }

    /// The score that the phase counts for.
    pub const fn group(self) -> ScoreGroup {
        match self {
            Self::IorEasyWrite | Self::IorHardWrite | Self::IorEasyRead | Self::IorHardRead => {
                ScoreGroup::Bandwidth
            }
            Self::IorRandomRead => ScoreGroup::Unscored,
            _ => ScoreGroup::Metadata,
        }
    }

    /// The unit of the value, as the official result has it.
    pub const fn unit(self) -> &'static str {
        match self.group() {
            ScoreGroup::Metadata => "kIOPS",
            ScoreGroup::Bandwidth | ScoreGroup::Unscored => "GiB/s",
        }
    }

    /// Whether the phase makes files until the stonewall. Such a phase must last long enough.
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::IorEasyWrite | Self::MdtestEasyWrite | Self::IorHardWrite | Self::MdtestHardWrite
        )
    }

    /// Whether the phase ends at the stonewall.
    pub const fn has_stonewall(self) -> bool {
        self.writes() || matches!(self, Self::IorRandomRead)
    }

    /// How many ranks further the rank is whose files a rank handles. So no rank finds them in its
    /// own cache.
    pub const fn shift(self) -> u32 {
        match self {
            Self::IorEasyWrite
            | Self::MdtestEasyWrite
            | Self::IorHardWrite
            | Self::MdtestHardWrite
            | Self::Find => 0,
            Self::IorEasyRead | Self::IorHardRead | Self::MdtestEasyStat | Self::MdtestHardStat => {
                1
            }
            Self::MdtestHardRead | Self::IorRandomRead => 2,
            Self::MdtestEasyDelete | Self::MdtestHardDelete => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_phases_have_a_score() {
        let count = |group| {
            Io500Phase::ALL
                .iter()
                .filter(|p| p.group() == group)
                .count()
        };
        assert_eq!(count(ScoreGroup::Bandwidth), 4);
        assert_eq!(count(ScoreGroup::Metadata), 8);
        assert_eq!(count(ScoreGroup::Unscored), 1);
    }

    #[test]
    fn what_is_written_comes_before_what_is_read() {
        let writes = Io500Phase::ALL.map(Io500Phase::writes);
        assert_eq!(writes.iter().rposition(|writes| *writes), Some(3));
        assert!(writes[..4].iter().all(|writes| *writes));
    }
}
