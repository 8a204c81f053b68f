//! What a Futago server decides.
//!
//! A [`Server`] never acts: [`Server::handle`] is a function from (state, input, time) to a
//! [`Decision`], a batch of changes and the messages to send once they are made. All state is in
//! the view; the `Server` itself holds only what never changes.
#![no_std]

extern crate alloc;

mod answer;
mod config;
mod fence;
mod leases;
mod operations;
mod peers;
mod rebirth;
mod session;
mod state;
mod steps;
mod tick;
mod transactions;
mod turn;

use alloc::vec::Vec;
use futago_base::{
    Batch, ClusterMap, FileId, Incarnation, Moment, Name, Overlay, Payload, RequestId, ServerId,
    SessionId, View, Work,
};
use futago_wire::{Outcome, Peer, PeerAnswer, Push, Request};

pub use config::Config;
pub use operations::inspected;
pub use transactions::TransactionCounts;

/// What a server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "inputs are made, handled and dropped one at a time"
)]
pub enum Input {
    /// A client's request.
    Request {
        /// Its identity, the same in every copy.
        id: RequestId,
        /// The client has the answers to all its requests up to this number.
        acknowledged: u64,
        /// What it asks.
        request: Request,
        /// The data that comes with it.
        payload: Payload,
        /// Whether the client takes leases.
        leases: bool,
        /// Whether the session may be one that the server does not know yet.
        introduces: bool,
    },
    /// A message from another server.
    Peer(Peer),
    /// Another server's answer.
    PeerAnswer(PeerAnswer),
    /// [`Config::tick`] has passed.
    Tick,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To a client.
    Answer {
        /// The request that is answered.
        request: RequestId,
        /// The answer.
        outcome: Outcome,
        /// The data that goes with it.
        payload: Payload,
    },
    /// To a client that has not asked.
    Push {
        /// The client.
        session: SessionId,
        /// What it is told.
        push: Push,
    },
    /// To another server.
    Peer {
        /// The receiver.
        to: ServerId,
        /// The message.
        message: Peer,
    },
    /// To another server, in answer.
    PeerAnswer {
        /// The receiver.
        to: ServerId,
        /// The answer.
        answer: PeerAnswer,
    },
}

/// What a server decides: first the batch takes effect, then the outputs leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The changes.
    pub batch: Batch,
    /// The messages, in the order in which they leave.
    pub outputs: Vec<Output>,
    /// What it took to decide.
    pub work: Work,
    /// What became of transactions.
    pub transactions: TransactionCounts,
    /// Whether the request that was handled waits for other clients: until they return leases, or
    /// finish a transaction or an append.
    pub waits_for_clients: bool,
}

/// A directory that a cluster has from the start: see [`Server::plant`].
#[derive(Clone, Debug)]
pub struct PlantedDirectory {
    /// Its identity, one that is never drawn.
    pub id: FileId,
    /// Its name in the root.
    pub name: Name,
    /// How often its range of hashes is halved: it has two to the power of this buckets.
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
    /// Server `id` of the cluster that `map` describes, in its first life.
    pub const fn new(id: ServerId, map: ClusterMap, config: Config) -> Self {
        Self {
            id,
            incarnation: Incarnation(0),
            map,
            config,
        }
    }

    /// The same in another life. A runtime that starts a server from an empty store draws a new
    /// life at random.
    #[must_use]
    pub const fn in_life(mut self, incarnation: Incarnation) -> Self {
        self.incarnation = incarnation;
        self
    }

    /// Which of its lives this is.
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Which server this is.
    pub const fn id(&self) -> ServerId {
        self.id
    }

    /// The settings that it works by.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The batch that makes an empty store a new server's: the root directory, if it lives here.
    pub fn genesis<V: View>(&self, empty: &V, now: impl Into<Moment>) -> Batch {
        let mut turn = turn::Turn::new(self, Overlay::new(empty), now.into());
        if self.map.home(FileId::ROOT) == self.id {
            turn.reserve_root_id();
            turn.put_root();
        }
        turn.decide(None).batch
    }

    /// The batch that gives a new server its part of a directory, as if the directory had been made
    /// in the root and had grown until it was split evenly. For simulations and tests, where many
    /// names would have to be made to get there.
    pub fn plant<V: View>(
        &self,
        view: &V,
        directory: &PlantedDirectory,
        now: impl Into<Moment>,
    ) -> Batch {
        let mut turn = turn::Turn::new(self, Overlay::new(view), now.into());
        turn.plant(directory);
        turn.state.into_batch()
    }

    /// Decides what an input leads to. Both times of `now` advance from call to call; the driver
    /// advances the stamp beyond every clock that it has seen in a message (a hybrid clock), so
    /// that an effect never has an earlier time than its cause.
    pub fn handle<V: View>(&self, view: &V, input: Input, now: impl Into<Moment>) -> Decision {
        let mut turn = turn::Turn::new(self, Overlay::new(view), now.into());
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
                turn.leases = leases;
                handled = Some(id);
                match turn.meet_session(id, acknowledged, introduces) {
                    Ok(()) => turn.receive(id, &request, &payload),
                    Err(failure) => turn.answer(id, Err(failure), Payload::empty()),
                }
            }
            Input::Peer(message) => turn.receive_peer(message),
            Input::PeerAnswer(answer) => turn.receive_peer_answer(answer),
            Input::Tick => turn.tick(),
        }
        turn.run_unparked();
        turn.decide(handled)
    }
}
