//! The network between hosts: switches and links in a tree, a fat tree, or a latency alone.
//!
//! A switch delays packets by its start-up and serializes nothing, neither between ports nor on a
//! link, unless it is configured so: all traffic through a switch shares a back plane, and all
//! traffic in one direction of a link shares a trunk.

mod fat_tree;
mod tree;
mod ways;

pub use fat_tree::FatTree;
pub use tree::{Link, Switch};
pub(super) use ways::Ways;

use crate::world::MessageSize;
use futago_lab::document::{Problem, bounds};
use serde::{Deserialize, Serialize};

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Start-up of a packet at every NIC and switch that does not name its own, in nanoseconds.
    #[serde(default, deserialize_with = "bounds::time_ns")]
    pub startup_ns: u64,
    /// The additional latency of every message, in nanoseconds.
    #[serde(default, deserialize_with = "bounds::time_ns")]
    pub latency_ns: u64,
    /// The latency of a message between two processes of one host, in nanoseconds.
    #[serde(default, deserialize_with = "bounds::time_ns")]
    pub local_ns: u64,
    /// Bytes of the largest packet; a message is cut into so many as it needs.
    #[serde(default = "packet_bytes", deserialize_with = "bounds::count")]
    pub packet_bytes: u32,
    /// How large messages are: `"encoded"`, or `{ fixed = … }` bytes whatever they say.
    #[serde(default = "encoded")]
    pub message_size: MessageSize,
    /// The switches; none, nor a fat tree: NICs are connected directly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Switch>,
    /// The links between switches, which must form a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The switches that client hosts are attached to, each to an equal share of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// The switches that server hosts are attached to, each to an equal share of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// A fat tree instead of switches and links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fat_tree: Option<FatTree>,
}

const fn encoded() -> MessageSize {
    MessageSize::Encoded
}

const fn packet_bytes() -> u32 {
    1500
}

impl Network {
    /// Whether it makes sense by itself. Keys of mistakes begin below `network`.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let Some(tree) = &self.fat_tree else {
            return tree::check(self);
        };
        if !self.switches.is_empty() {
            let problem = Problem::new("a network is either a fat tree or has switches, not both");
            return Err(problem.inside("fat_tree"));
        }
        tree.check()
    }
}
