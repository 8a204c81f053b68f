//! The world as a model of the engine.

use super::conductor::Conductor;
use super::host::Host;
use super::link::Link;
use super::process::World;
use super::scene::Scene;
use super::statistics::OperationTable;
use futago_des::{Model, ProcessId, Time, Topology};
use std::sync::{Arc, Mutex, PoisonError};

/// The world, and where its hosts put what they measure.
pub struct WorldModel {
    pub scene: Arc<Scene>,
    /// The rank of each host among those of its kind.
    ranks: Vec<u32>,
    /// Histograms are large: many hosts share one table, but few threads.
    tables: Vec<Arc<Mutex<OperationTable>>>,
}

/// Even, so that with an even number of threads each table belongs to one of them.
const TABLES: usize = 16;

impl WorldModel {
    pub fn new(scene: Scene) -> Self {
        Self {
            ranks: ranks(&scene),
            scene: Arc::new(scene),
            tables: (0..TABLES).map(|_| Arc::default()).collect(),
        }
    }

    /// All operations that have been measured.
    pub fn operations(&self) -> OperationTable {
        let mut all = OperationTable::new();
        for table in &self.tables {
            let table = table.lock().unwrap_or_else(PoisonError::into_inner);
            for (&key, tally) in table.iter() {
                all.entry(key).or_default().merge(tally);
            }
        }
        all
    }
}

/// The rank of each host, counted apart for hosts with and without servers: so every partition gets
/// its share of both.
fn ranks(scene: &Scene) -> Vec<u32> {
    let (mut serving, mut others) = (0.., 0..);
    let ranks = scene.setup.hosts.iter().map(|host| match host.servers {
        0 => others.next(),
        _ => serving.next(),
    });
    ranks.flatten().collect()
}

impl Model for WorldModel {
    type Process = World;

    fn process_count(&self) -> u32 {
        self.scene.conductor().0 + 1
    }

    fn create(&self, id: ProcessId) -> World {
        let hosts = self.scene.host_count();
        if id == self.scene.conductor() {
            World::Conductor(Conductor::new(&self.scene))
        } else if id.0 < hosts {
            let table = self.tables[id.index() % TABLES].clone();
            World::Host(Host::new(id.0, &self.scene, table))
        } else {
            World::Link(Link::new(id.0 - hosts, &self.scene))
        }
    }

    fn topology(&self) -> Topology {
        Topology::Complete {
            lookahead: Time::from_ticks(self.scene.lookahead_ns),
        }
    }

    fn name(&self, id: ProcessId) -> String {
        let hosts = self.scene.host_count();
        if id == self.scene.conductor() {
            return "the conductor".into();
        }
        match self
            .scene
            .setup
            .network
            .shared_links
            .get((id.0.wrapping_sub(hosts)) as usize)
        {
            Some(link) => format!("shared link {}", link.name),
            None => format!("host {}", id.0),
        }
    }

    fn partition_hint(&self, id: ProcessId, partitions: u32) -> u32 {
        self.ranks
            .get(id.index())
            .map_or(0, |rank| rank % partitions)
    }
}
