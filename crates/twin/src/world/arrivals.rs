//! Operations that arrive whether earlier ones have ended or not.

use futago_des::{
    RandomStream,
    random::{Distribution, Exponential},
};
use serde::{Deserialize, Serialize};

/// An open system: operations arrive at a rate, and wait while their client is busy with another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// How many arrive a second, at all clients together; each gets an equal share.
    pub per_s: f64,
    /// How they are spread over time.
    #[serde(default)]
    pub process: ArrivalProcess,
}

/// How arrivals are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalProcess {
    /// Each client's are a Poisson process, and so are those of all.
    #[default]
    Poisson,
    /// Those of all clients come in equal distances.
    Constant,
}

impl Arrivals {
    /// More a second than this are taken for a mistake.
    pub const PER_S_MAX: f64 = 1e9;

    /// Whether operations can arrive like this.
    pub fn is_valid(&self) -> bool {
        self.per_s > 0.0 && self.per_s <= Self::PER_S_MAX
    }

    /// From the beginning of a phase until the first operation of a client of so many arrives, in
    /// nanoseconds.
    pub fn first_ns(&self, client: u32, clients: u32, random: &mut RandomStream) -> u64 {
        match self.process {
            ArrivalProcess::Poisson => self.gap_ns(clients, random),
            ArrivalProcess::Constant => (f64::from(client) * 1e9 / self.per_s) as u64,
        }
    }

    /// From one arrival at a client of so many to its next one, in nanoseconds; never 0.
    pub fn gap_ns(&self, clients: u32, random: &mut RandomStream) -> u64 {
        let mean_ns = f64::from(clients) * 1e9 / self.per_s;
        let gap_ns = match self.process {
            ArrivalProcess::Poisson => Exponential::with_mean(mean_ns).sample(random),
            ArrivalProcess::Constant => mean_ns,
        };
        (gap_ns.round() as u64).max(1)
    }
}
