//! The assignment of processes to partitions.

use serde::Serialize;

use crate::event::ProcessId;
use crate::fault::Error;
use crate::{Link, Model, Time, Topology};

/// The distribution of processes over partitions.
///
/// Except with `Hint`, processes joined by a link without lookahead stay together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Adjacent numbers together.
    #[default]
    Block,
    /// Adjacent numbers apart.
    RoundRobin,
    /// According to [`Model::partition_hint`].
    Hint,
}

/// The partition of a process, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessLocation {
    pub partition: u32,
    pub index: u32,
}

/// The locations of all processes.
#[derive(Debug)]
pub(crate) struct PartitionMap {
    locations: Vec<ProcessLocation>,
    partitions: u32,
}

/// The link that limits how far partitions may run ahead of each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectiveLookahead {
    /// The smallest lookahead between two partitions.
    pub lookahead: Time,
    /// The sending process of the limiting link.
    pub from: String,
    /// Its receiving process.
    pub to: String,
}

impl PartitionMap {
    pub fn new(model: &impl Model, topology: &Topology, how: Placement, partitions: u32) -> Self {
        let count = model.process_count();
        let mut groups = Groups::new(if how == Placement::Hint { 0 } else { count });
        if let (Topology::Links(links), true) = (topology, how != Placement::Hint) {
            for link in links.iter().filter(|link| link.lookahead == Time::ZERO) {
                groups.join(link.from.0, link.to.0);
            }
        }
        let mut filled = vec![0; partitions as usize];
        let locations = (0..count)
            .map(|id| {
                let partition = match how {
                    Placement::Block => {
                        (u64::from(groups.first(id)) * u64::from(partitions) / u64::from(count))
                            as u32
                    }
                    Placement::RoundRobin => groups.first(id) % partitions,
                    Placement::Hint => model.partition_hint(ProcessId(id), partitions) % partitions,
                };
                let next: &mut u32 = &mut filled[partition as usize];
                *next += 1;
                ProcessLocation {
                    partition,
                    index: *next - 1,
                }
            })
            .collect();
        PartitionMap {
            locations,
            partitions,
        }
    }

    #[inline]
    pub fn locate(&self, id: ProcessId) -> ProcessLocation {
        self.locations[id.index()]
    }

    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    /// The processes of a partition, by index.
    pub fn members(&self, partition: u32) -> impl Iterator<Item = ProcessId> {
        (0u32..)
            .zip(&self.locations)
            .filter(move |(_, locate)| locate.partition == partition)
            .map(|(id, _)| ProcessId(id))
    }

    /// The links between partitions, one for each pair of partitions where all are alike.
    fn crossing_links(&self, topology: &Topology) -> Vec<Link> {
        match topology {
            Topology::Links(links) => links
                .iter()
                .filter(|link| self.crosses(link))
                .copied()
                .collect(),
            Topology::Complete { lookahead } => {
                let firsts: Vec<ProcessId> = (0..self.partitions)
                    .filter_map(|part| self.members(part).next())
                    .collect();
                let pairs = firsts
                    .iter()
                    .flat_map(|from| firsts.iter().map(move |to| (from, to)));
                pairs
                    .map(|(&from, &to)| Link {
                        from,
                        to,
                        lookahead: *lookahead,
                    })
                    .filter(|link| self.crosses(link))
                    .collect()
            }
        }
    }

    fn crosses(&self, link: &Link) -> bool {
        self.locate(link.from).partition != self.locate(link.to).partition
    }

    /// The link between partitions with the smallest lookahead; `None` if no link crosses.
    pub fn effective_lookahead(
        &self,
        model: &impl Model,
        topology: &Topology,
    ) -> Option<EffectiveLookahead> {
        let link = self
            .crossing_links(topology)
            .into_iter()
            .min_by_key(|link| link.lookahead)?;
        Some(EffectiveLookahead {
            lookahead: link.lookahead,
            from: model.name(link.from),
            to: model.name(link.to),
        })
    }

    /// The least delay from each partition to each other, and back to itself, over any number of
    /// links. Errors: a link without lookahead.
    pub fn distances(&self, model: &impl Model, topology: &Topology) -> Result<Distances, Error> {
        let mut distances = Distances::unreachable(self.partitions as usize);
        for link in self.crossing_links(topology) {
            if link.lookahead == Time::ZERO {
                return Err(Error::ZeroLookahead {
                    from: model.name(link.from),
                    to: model.name(link.to),
                });
            }
            let from = self.locate(link.from).partition as usize;
            distances.shorten(
                from,
                self.locate(link.to).partition as usize,
                link.lookahead,
            );
        }
        distances.close();
        Ok(distances)
    }
}

/// The shortest delay from every partition to every partition.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    count: usize,
    delays: Vec<Time>,
}

impl Distances {
    fn unreachable(count: usize) -> Self {
        Distances {
            count,
            delays: vec![Time::MAX; count * count],
        }
    }

    #[inline]
    pub fn between(&self, from: usize, to: usize) -> Time {
        self.delays[from * self.count + to]
    }

    fn shorten(&mut self, from: usize, to: usize, delay: Time) {
        let known = &mut self.delays[from * self.count + to];
        *known = (*known).min(delay);
    }

    /// Floyd and Warshall's all-pairs shortest paths. Paths from a partition to itself count,
    /// because its own messages may cause replies.
    fn close(&mut self) {
        for middle in 0..self.count {
            for from in 0..self.count {
                for to in 0..self.count {
                    let detour = self
                        .between(from, middle)
                        .saturating_add(self.between(middle, to));
                    self.shorten(from, to, detour);
                }
            }
        }
    }
}

/// Union-find over process numbers; the first of a group represents it.
struct Groups {
    parents: Vec<u32>,
}

impl Groups {
    fn new(count: u32) -> Self {
        Groups {
            parents: (0..count).collect(),
        }
    }

    fn first(&mut self, mut id: u32) -> u32 {
        while self.parents[id as usize] != id {
            let grandparent = self.parents[self.parents[id as usize] as usize];
            self.parents[id as usize] = grandparent;
            id = grandparent;
        }
        id
    }

    fn join(&mut self, left: u32, right: u32) {
        let (left, right) = (self.first(left), self.first(right));
        self.parents[left.max(right) as usize] = left.min(right);
    }
}
