//! Events of hosts, links and the conductor.

use super::message::Message;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An event of the world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The head of a packet arrives, at a shared link or at its host.
    Packet(Packet),
    /// The last byte of a message has been received.
    Delivered(Arc<Message>),
    /// A server's decision is stored: its messages leave.
    Release {
        /// The server, by its place on the host.
        server: u32,
        /// The server's life in which it decided.
        life: u32,
        /// The messages.
        messages: Vec<Arc<Message>>,
    },
    /// Something that a client waits for may be due.
    Timer(u32),
    /// A server's tick is due.
    Tick {
        /// The server, by its place on the host.
        server: u32,
        /// The server's life in which it was set.
        life: u32,
    },
    /// A process that has looked for something to do has found it.
    TimeSlice {
        /// The process: servers, then clients, by their places on the host.
        process: u32,
        /// Which of the core's plans this is; only the latest counts.
        number: u64,
    },
    /// A round begins: to all hosts.
    Round(u32),
    /// A client begins with the round.
    Begin(u32),
    /// All clients of a host are through with the round: to the conductor.
    Finished,
    /// A client dies.
    Die(u32),
    /// A server stops, by its place on the host.
    Stop(u32),
    /// A server is back, with nothing.
    Return(u32),
}

impl Event {
    /// Whether it happens because time has passed.
    pub const fn is_timer(&self) -> bool {
        matches!(self, Self::Timer(_) | Self::Tick { .. })
    }

    /// Whether a process that looks for messages has to find it.
    pub const fn is_looked_for(&self) -> bool {
        matches!(self, Self::Delivered(_) | Self::Begin(_)) || self.is_timer()
    }
}

/// A packet on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packet {
    /// Its bytes.
    pub bytes: u32,
    /// The host that sent it.
    pub from_host: u32,
    /// The host that gets it.
    pub to_host: u32,
    /// The hop of the path that it is at.
    pub hop: u32,
    /// The message, if this is its last packet.
    pub message: Option<Arc<Message>>,
}
