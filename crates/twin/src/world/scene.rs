//! The constants of a run, resolved for quick look-up.

use super::client::directory_name;
use super::{Amount, Error, FileNames, Path, Phase, Setup, WideDirectories};
use crate::world::message::Party;
use futago_base::{BucketStart, ClusterMap, Duration, FileId, Name, Partition, ServerId};
use futago_client::Buckets;
use futago_des::ProcessId;
use futago_server::PlantedDirectory;
use std::{collections::BTreeSet, sync::Arc};

/// Time does not begin at zero for the real code, so that "never" and "at first" differ.
const BIRTH_NS: u64 = 1_000_000_000;

/// Planted directories have identities beyond all that are drawn.
const PLANTED_COUNTER: u64 = 1 << 47;

/// The time of the real code at a time of the engine.
pub const fn wall(at_ns: u64) -> futago_base::Time {
    futago_base::Time(BIRTH_NS + at_ns)
}

/// The time of the engine at a time of the real code.
pub const fn engine_ns(time: futago_base::Time) -> u64 {
    time.0.saturating_sub(BIRTH_NS)
}

/// A setup and what follows from it.
#[derive(Debug)]
pub struct Scene {
    pub setup: Setup,
    pub map: ClusterMap,
    /// The servers' settings; sessions last for ever unless clients show that they live.
    pub server: futago_server::Config,
    /// The shared directories, and after them the clients' own.
    pub planted: Vec<PlantedDirectory>,
    /// The buckets of each planted directory that clients know from the start.
    pub known: Vec<Option<Arc<Buckets>>>,
    /// The first server and the first client of each host.
    pub first: Vec<(u32, u32)>,
    server_hosts: Vec<u32>,
    client_hosts: Vec<u32>,
    /// The contact server of each client, if they have any.
    contacts: Vec<ServerId>,
    /// The latency of a message of the conductor.
    pub barrier_ns: u64,
    /// The smallest delay of an event from one process to another.
    pub lookahead_ns: u64,
}

/// Barriers take at least this long, so that they do not limit the conservative executor.
const BARRIER_MIN_NS: u64 = 1_000;

impl Scene {
    pub fn new(setup: Setup) -> Result<Self, Error> {
        setup.check()?;
        let protocol = &setup.protocol;
        let map = ClusterMap::new(
            1,
            protocol.policy,
            protocol.partitions,
            setup.server_count(),
        )
        .map_err(|error| Error::Setup {
            part: "protocol.partitions".into(),
            reason: error.to_string(),
        })?;
        let planted: Vec<PlantedDirectory> = planted(&setup, map.partition_count());
        check_round_robin(&setup, &map, &planted)?;
        let mut server = protocol.server.clone();
        if !protocol.keep_alive {
            server.lease = Duration::MAX;
        }
        let known = setup.directories.iter().zip(&planted);
        let known = known.map(|(directory, planted)| {
            (directory.known && planted.level > 0)
                .then(|| Arc::new(Buckets::at_level(planted.level)))
        });
        let known = known.collect();
        let lookahead_ns = lookahead_ns(&setup);
        let mut scene = Self {
            map,
            server,
            planted,
            known,
            first: Vec::new(),
            server_hosts: Vec::new(),
            client_hosts: Vec::new(),
            contacts: Vec::new(),
            barrier_ns: lookahead_ns.max(BARRIER_MIN_NS),
            lookahead_ns,
            setup,
        };
        scene.seat();
        Ok(scene)
    }

    /// Numbers servers and clients in the order of their hosts.
    fn seat(&mut self) {
        for (number, host) in (0_u32..).zip(&self.setup.hosts) {
            let first = (
                self.server_hosts.len() as u32,
                self.client_hosts.len() as u32,
            );
            self.first.push(first);
            let seat = |count: u32| std::iter::repeat_n(number, count as usize);
            self.server_hosts.extend(seat(host.servers));
            self.client_hosts.extend(seat(host.clients));
        }
        if self.setup.protocol.contacts {
            let clients = 0..self.client_count();
            self.contacts = clients
                .filter_map(|number| self.contact_of(number))
                .collect();
        }
    }

    /// The host of a process; `None` if there is no such process.
    pub fn host_of(&self, party: Party) -> Option<u32> {
        match party {
            Party::Server(id) => self.server_hosts.get(usize::from(id.0)),
            Party::Client(number) => self.client_hosts.get(number as usize),
        }
        .copied()
    }

    /// The settings of a client. Without keep-alives sessions, and so leases, last for ever.
    pub fn client_config(&self, number: u32) -> futago_client::Config {
        let protocol = &self.setup.protocol;
        futago_client::Config {
            lease_trust: protocol
                .leases
                .then_some(Duration(self.server.lease.0 / 4 * 3)),
            contact: self.contacts.get(number as usize).copied(),
            ..protocol.client
        }
    }

    /// The host of a client if clients share their caches.
    pub fn sharing_host(&self, number: u32) -> Option<u32> {
        let shares = self.setup.protocol.cooperative;
        shares
            .then(|| self.host_of(Party::Client(number)))
            .flatten()
    }

    /// The contact server of a client: one of its host, else any, spread evenly.
    fn contact_of(&self, number: u32) -> Option<ServerId> {
        let host = self.host_of(Party::Client(number));
        let all = || (0..).map(ServerId).zip(&self.server_hosts);
        let near = all().filter(|(_, at)| Some(**at) == host);
        let mut among: Vec<ServerId> = near.map(|(id, _)| id).collect();
        if among.is_empty() {
            among = all().map(|(id, _)| id).collect();
        }
        let at = (number as usize).checked_rem(among.len())?;
        among.get(at).copied()
    }

    /// The way from one host to another.
    pub fn path(&self, from: u32, to: u32) -> &Path {
        let group = |host: u32| self.setup.hosts[host as usize].group as usize;
        &self.setup.network.paths[group(from)][group(to)]
    }

    /// The largest rate of a path, in bytes a second.
    pub fn slowest_bytes_per_s(&self, from: u32, to: u32) -> u64 {
        let sender = self.setup.hosts[from as usize].send_bytes_per_s;
        self.path(from, to)
            .bytes_per_s
            .map_or(sender, |link| link.min(sender))
    }

    pub fn client_count(&self) -> u32 {
        self.client_hosts.len() as u32
    }

    pub fn host_count(&self) -> u32 {
        self.setup.hosts.len() as u32
    }

    /// The engine's number of a shared link.
    pub fn link_process(&self, link: u32) -> ProcessId {
        ProcessId(self.host_count() + link)
    }

    /// The engine's number of the conductor: the last one.
    pub fn conductor(&self) -> ProcessId {
        self.link_process(self.setup.network.shared_links.len() as u32)
    }

    /// How many rounds there are.
    pub fn round_count(&self) -> u32 {
        Stage::COUNT * self.setup.phases.len() as u32
    }

    /// The phase that a round belongs to.
    pub fn phase_of(&self, round: u32) -> Option<&Phase> {
        self.setup.phases.get(Stage::phase_of(round) as usize)
    }

    /// The measured part of a round: the phase, its begin and its end.
    pub fn window(&self, round: u32, began_ns: u64) -> Option<Window> {
        let performs = Stage::of(round) == Stage::Perform;
        let phase = self.phase_of(round).filter(|_| performs)?;
        let (from_ns, until_ns) = match phase.amount {
            Amount::Operations(_) => (began_ns, u64::MAX),
            Amount::Duration {
                warm_up_ns,
                measured_ns,
            } => {
                let from_ns = began_ns.saturating_add(warm_up_ns);
                (from_ns, from_ns.saturating_add(measured_ns))
            }
        };
        Some(Window {
            phase: Stage::phase_of(round),
            from_ns,
            until_ns,
        })
    }
}

/// The purposes of a phase's rounds, in order. All clients begin each round together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Making what the phase needs.
    Prepare,
    /// Finding what the phase is about, which another client may have made.
    Find,
    /// The phase itself.
    Perform,
}

impl Stage {
    const COUNT: u32 = 3;

    /// The number of the phase that a round belongs to.
    pub const fn phase_of(round: u32) -> u32 {
        round / Self::COUNT
    }

    pub const fn of(round: u32) -> Self {
        match round % Self::COUNT {
            0 => Self::Prepare,
            1 => Self::Find,
            _ => Self::Perform,
        }
    }
}

/// The measured part of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub phase: u32,
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Window {
    pub fn contains(&self, at_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns)
    }
}

fn planted(setup: &Setup, partitions: usize) -> Vec<PlantedDirectory> {
    let shared = setup.directories.iter();
    let shared = shared.map(|directory| (Name::new(directory.name.clone()), directory.buckets));
    let WideDirectories { each, buckets } = setup.wide;
    let clients = 0..setup.client_count() as u32;
    let own = clients
        .flat_map(|client| (0..each).map(move |number| (directory_name(client, number), buckets)));
    let planted = (0_u64..).zip(shared.chain(own));
    let planted = planted.filter_map(|(index, (name, buckets))| {
        let home = Partition((index % partitions as u64) as u16);
        Some(PlantedDirectory {
            id: FileId::new(home, PLANTED_COUNTER + index),
            name: name.ok()?,
            level: buckets.ilog2() as u8,
        })
    });
    planted.collect()
}

/// Names can only be dealt out to all servers if each has a bucket.
fn check_round_robin(
    setup: &Setup,
    map: &ClusterMap,
    planted: &[PlantedDirectory],
) -> Result<(), Error> {
    for (index, (directory, planted)) in setup.directories.iter().zip(planted).enumerate() {
        let buckets = BucketStart::tiling(planted.level);
        let servers = buckets.map(|bucket| map.bucket_server(planted.id, bucket));
        let servers: BTreeSet<ServerId> = servers.collect();
        let all = servers.len() == usize::from(map.server_count());
        if directory.names == FileNames::RoundRobin && !all {
            return Err(Error::Setup {
                part: format!("directories[{index}].names"),
                reason: "files alternate between servers only if every server has a bucket".into(),
            });
        }
    }
    Ok(())
}

/// The shortest time from any host to a shared link or host, or from a link to the next.
fn lookahead_ns(setup: &Setup) -> u64 {
    let paths = setup.network.paths.iter().flatten();
    paths.map(shortest_leg_ns).min().unwrap_or(0)
}

fn shortest_leg_ns(path: &Path) -> u64 {
    let mut legs = vec![path.startup_ns];
    for hop in &path.hops {
        if hop.shared_link.is_some() {
            legs.push(0);
        }
        if let Some(leg) = legs.last_mut() {
            *leg += hop.latency_ns;
        }
    }
    legs.into_iter().min().unwrap_or(0)
}
