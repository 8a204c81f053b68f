//! Contact servers: a server relays what homes know to the clients that are nearest to it.
//!
//! A contact server holds leases at homes, in a session of its own with each of them
//! ([`links`]). It grants its clients leases that depend on its own ([`relays`]). When a home
//! recalls a lease, the contact server recalls it from its clients. It returns the lease after they
//! have done so, or after their sessions have ended (invariant I12). A client that asks for
//! something for the first time leaves a hint only ([`hints`]).

mod hints;
mod home;
mod links;
mod relays;

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal};
use futago_base::{Payload, ServerId, View};
use futago_wire::{Question, Relayed, Request};

impl<V: View> DecisionBuilder<'_, V> {
    /// Answers the question of a client from the cache. `None` if the client is to ask the home
    /// itself. The request waits while the home is being asked.
    pub fn consult(&mut self, request: &Request, question: &Question) -> Checked<Option<Relayed>> {
        let home = self.home_of(question);
        if home == self.server.id() || self.is_here(question.node()) {
            return Ok(None);
        }
        if let Some(fact) = self.known_fact(question, home) {
            return Ok(self.relay(fact, question.node(), home));
        }
        if !self.asks_home(question, home) {
            return Ok(None);
        }
        self.await_node(question.node(), self.request, request, &Payload::empty());
        Err(Refusal::Waits)
    }

    /// The server that can grant the lease for the answer to a question.
    fn home_of(&self, question: &Question) -> ServerId {
        match question {
            Question::Entry(at) => self.server.map.bucket_server(at.directory, at.bucket),
            Question::State(id) => self.server.map.home(*id),
        }
    }
}
