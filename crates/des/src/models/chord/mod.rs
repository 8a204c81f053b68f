//! A Chord ring with lookups and churn.
//!
//! Stoica, Morris, Karger, Kaashoek and Balakrishnan, "Chord: a scalable peer-to-peer lookup
//! service for internet applications", SIGCOMM 2001. Lookups are iterative: the node that starts a
//! lookup asks one node after the other. The undo is the snapshot of the engine.

mod lookup;
mod node;
mod ring;
mod summary;

pub use node::Node;
pub use summary::{Lookups, measure};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::random::{Distribution, Exponential};
use crate::{Context, Mode, Model, ProcessId, Snapshot, Time, Topology};
use ring::Ring;

/// The number of successors that a node knows.
pub const SUCCESSORS: usize = 8;

/// A Chord ring.
#[derive(Clone, Debug)]
pub struct Chord {
    world: Arc<World>,
}

/// The common data of all nodes.
#[derive(Debug)]
struct World {
    settings: Settings,
    ring: Ring,
}

/// The parameters of [`Chord`]; times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// The number of nodes.
    pub nodes: u32,
    /// The least delay of a message between two nodes.
    pub lookahead_s: f64,
    /// The mean delay, the lookahead included.
    pub delay_s: f64,
    /// Mean time between two lookups of a node.
    pub lookup_every_s: f64,
    /// Time between two rounds of stabilization of a node.
    pub stabilize_every_s: f64,
    /// Time between two repairs of fingers of a node, one finger at a time.
    pub fix_finger_every_s: f64,
    /// Mean time that a node lives, and that it is away; `None` for a ring without churn.
    pub lifetime_s: Option<f64>,
    /// How long a node waits for a reply.
    pub timeout_s: f64,
}

impl Default for Settings {
    /// A lookup a minute and a stabilization every 20 s, as in OverSim.
    fn default() -> Self {
        Settings {
            nodes: 1024,
            lookahead_s: 0.01,
            delay_s: 0.05,
            lookup_every_s: 60.0,
            stabilize_every_s: 20.0,
            fix_finger_every_s: 120.0,
            lifetime_s: None,
            timeout_s: 1.5,
        }
    }
}

/// The messages between nodes, and the timers of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ChordEvent {
    /// Time to look up a random key.
    LookUp,
    /// Time to ask the successor for its neighbours.
    Stabilize,
    /// Time to repair a finger.
    FixFinger,
    /// The node fails, or comes back.
    Churn,
    /// Asks for the next node on the way to a key.
    Find {
        /// The key.
        key: u64,
        /// The number of the question.
        question: u32,
        /// The asking node.
        asker: u32,
        /// The node in the last reply, if it did not reply itself.
        gone: Option<u32>,
    },
    /// The reply to [`ChordEvent::Find`].
    Next {
        /// The question.
        question: u32,
        /// The node to ask next, or the owner of the key.
        node: u32,
        /// Whether it is the owner.
        is_owner: bool,
    },
    /// The time-out of a question.
    Overdue {
        /// The question.
        question: u32,
    },
    /// Asks for the predecessor and the successors. The asking node takes itself for the
    /// predecessor.
    Neighbours {
        /// The asking node.
        asker: u32,
    },
    /// The reply to [`ChordEvent::Neighbours`].
    AreNeighbours {
        /// The replying node.
        from: u32,
        /// The predecessor of the replying node.
        predecessor: Option<u32>,
        /// Its successors.
        successors: [u32; SUCCESSORS],
    },
    /// The time-out of the successor.
    SuccessorOverdue {
        /// The round of stabilization.
        round: u32,
    },
}

impl Chord {
    /// A complete ring in which all nodes know their neighbours.
    pub fn new(settings: Settings) -> Chord {
        let ring = Ring::new(settings.nodes);
        Chord {
            world: Arc::new(World { settings, ring }),
        }
    }

    /// The parameters.
    pub fn settings(&self) -> &Settings {
        &self.world.settings
    }
}

impl Settings {
    /// The delay of one message.
    fn delay<M: Mode>(&self, ctx: &mut NodeContext<'_, M>) -> Time {
        let beyond = Exponential::with_mean(self.delay_s - self.lookahead_s).sample(ctx.random());
        Time::from_seconds(self.lookahead_s).saturating_add(Time::from_seconds(beyond))
    }
}

/// The context of the handlers of a node.
type NodeContext<'a, M> = Context<'a, Snapshot<Node>, M>;

/// A random time with this mean.
fn exponential<M: Mode>(mean_s: f64, ctx: &mut NodeContext<'_, M>) -> Time {
    Time::from_seconds(Exponential::with_mean(mean_s).sample(ctx.random()))
}

impl Model for Chord {
    type Process = Snapshot<Node>;

    fn process_count(&self) -> u32 {
        self.world.settings.nodes
    }

    fn create(&self, id: ProcessId) -> Snapshot<Node> {
        Snapshot::new(Node::new(&self.world, id.0))
    }

    fn topology(&self) -> Topology {
        Topology::Complete {
            lookahead: Time::from_seconds(self.world.settings.lookahead_s),
        }
    }

    fn name(&self, id: ProcessId) -> String {
        format!("node {}", id.0)
    }
}
