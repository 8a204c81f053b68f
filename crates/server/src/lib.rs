//! The decisions of a Futago server.
//!
//! A [`Server`] performs no I/O: [`Server::handle`] is a function from (state, input, time) to a
//! [`Decision`]. A decision is a batch of changes, and the messages to send after them. All state
//! is in the view; the `Server` itself holds only constants.
#![no_std]

extern crate alloc;

mod builder;
mod completion;
mod config;
mod contact;
mod copies;
mod effects;
mod fence;
mod leases;
mod losses;
mod operations;
mod peers;
mod rebirth;
mod restoration;
mod session;
mod state;
mod steps;
mod tick;
mod transactions;
mod waiting;

use alloc::vec::Vec;
use futago_base::{
    Batch, ClusterMap, FileId, Incarnation, Moment, Name, Overlay, Payload, RequestId, ServerId,
    SessionId, View, Work,
};
use futago_wire::{Outcome, Peer, PeerAnswer, PeerChange, Push, Request};

pub use config::Config;
pub use operations::inspected;
pub use transactions::TransactionCounts;

/// An event that a server handles.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "inputs are made, handled and dropped one at a time"
)]
pub enum Input {
    /// A client's request.
    Request {
        /// The id of the request, the same in every copy.
        id: RequestId,
        /// The client has the replies to all its requests up to this number.
        acknowledged: u64,
        /// The operation.
        request: Request,
        /// The data of the request.
        payload: Payload,
        /// Whether the client accepts leases.
        leases: bool,
        /// Whether the session may be new to the server.
        introduces: bool,
    },
    /// A message from another server.
    Peer(Peer),
    /// A reply from another server.
    PeerAnswer(PeerAnswer),
    /// [`Config::tick`] has passed.
    Tick,
    /// A loss of power has undone the latest batches, which clients may have seen. Since then a
    /// lease has passed, so no client relies on this server any more.
    Lost,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "outputs are made, sent and dropped one at a time"
)]
pub enum Output {
    /// A reply to a client.
    Reply {
        /// The request.
        request: RequestId,
        /// The result of the request.
        outcome: Outcome,
        /// The data of the reply.
        payload: Payload,
    },
    /// A message to a client that answers no request.
    Push {
        /// The client.
        session: SessionId,
        /// The message.
        push: Push,
    },
    /// A message to another server.
    Peer {
        /// The receiver.
        to: ServerId,
        /// The message.
        message: Peer,
    },
    /// A reply to another server.
    PeerAnswer {
        /// The receiver.
        to: ServerId,
        /// The reply.
        answer: PeerAnswer,
    },
}

impl Output {
    /// Whether another server may act upon it, or a client relies on its durability: then it leaves
    /// when the batch that it depends on survives a loss of power.
    pub const fn is_acted_upon(&self) -> bool {
        match self {
            Self::Peer { .. } | Self::PeerAnswer { .. } => true,
            Self::Reply {
                outcome: Ok(reply), ..
            } => reply.promises_durability(),
            Self::Reply { .. } | Self::Push { .. } => false,
        }
    }

    /// Whether it truncates chunks of another server. Clients show those the number of a
    /// truncation, so no reply may name it before its batch survives a loss of power.
    pub const fn truncates_elsewhere(&self) -> bool {
        matches!(
            self,
            Self::Peer {
                message: Peer::Deliver {
                    change: PeerChange::Cut { .. },
                    ..
                },
                ..
            }
        )
    }
}

/// The decision of a server: the caller applies the batch first, then sends the outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The changes.
    pub batch: Batch,
    /// The messages, in sending order.
    pub outputs: Vec<Output>,
    /// The work of the decision, for cost models.
    pub work: Work,
    /// How many transactions the decision has begun and decided.
    pub transactions: TransactionCounts,
    /// Whether the handled request waits for other clients, until they return leases or finish a
    /// transaction or an append.
    pub waits_for_clients: bool,
}

/// A directory that a cluster has from the start: see [`Server::plant`].
#[derive(Clone, Debug)]
pub struct PlantedDirectory {
    /// The id of the directory, one that the server never assigns.
    pub id: FileId,
    /// The name in the root.
    pub name: Name,
    /// How often the range of hashes is halved: the directory has 2^level buckets.
    pub level: u8,
}

/// One server of a cluster.
#[derive(Clone, Debug)]
pub struct Server {
    id: ServerId,
    incarnation: Incarnation,
    map: ClusterMap,
    config: Config,
}

impl Server {
    /// Server `id` of the cluster that `map` describes, in its first incarnation.
    pub const fn new(id: ServerId, map: ClusterMap, config: Config) -> Self {
        Self {
            id,
            incarnation: Incarnation(0),
            map,
            config,
        }
    }

    /// The same server in another incarnation. A runtime that starts a server from an empty store
    /// draws a random incarnation.
    #[must_use]
    pub const fn in_life(mut self, incarnation: Incarnation) -> Self {
        self.incarnation = incarnation;
        self
    }

    /// The incarnation of the server.
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The id of the server.
    pub const fn id(&self) -> ServerId {
        self.id
    }

    /// Which server owns what.
    pub const fn map(&self) -> &ClusterMap {
        &self.map
    }

    /// The settings of the server.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The first batch of a new server with an empty store: the root directory, if this server is
    /// its home.
    pub fn genesis<V: View>(&self, empty: &V, now: impl Into<Moment>) -> Batch {
        let mut builder = builder::DecisionBuilder::new(self, Overlay::new(empty), now.into());
        if self.map.home(FileId::ROOT) == self.id {
            builder.reserve_root_id();
            builder.put_root();
        }
        builder.decide(None).batch
    }

    /// The batch that gives a new server its part of a directory. The directory is as if it had
    /// been made in the root and had grown until it was split evenly. Simulations and tests use it,
    /// because making that many names would take too long.
    pub fn plant<V: View>(
        &self,
        view: &V,
        directory: &PlantedDirectory,
        now: impl Into<Moment>,
    ) -> Batch {
        let mut builder = builder::DecisionBuilder::new(self, Overlay::new(view), now.into());
        builder.plant(directory);
        builder.state.into_batch()
    }

    /// Handles an input. Both times of `now` advance from call to call. The driver advances the
    /// stamp beyond every clock in received messages (a hybrid clock). So an effect never has an
    /// earlier time than its cause.
    pub fn handle<V: View>(&self, view: &V, input: Input, now: impl Into<Moment>) -> Decision {
        let mut builder = builder::DecisionBuilder::new(self, Overlay::new(view), now.into());
        let mut handled = None;
        match input {
            Input::Request {
                id,
                acknowledged,
                request,
                payload,
                leases,
                introduces,
            } => {
                builder.leases = leases;
                handled = Some(id);
                match builder.meet_session(id, acknowledged, introduces) {
                    Ok(()) => builder.receive(id, &request, &payload),
                    Err(failure) => builder.reply(id, Err(failure), Payload::empty()),
                }
            }
            Input::Peer(message) => builder.receive_peer(message),
            Input::PeerAnswer(answer) => builder.receive_peer_answer(answer),
            Input::Tick => builder.tick(),
            Input::Lost => builder.settle_losses(),
        }
        builder.run_unblocked();
        builder.decide(handled)
    }
}
