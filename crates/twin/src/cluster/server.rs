//! A server: the real core over a memory store.

use futago_base::{Batch, ClusterMap, Key, ServerId, Time};
use futago_server::{Config, Decision, Input, Output, Server};
use futago_store::MemoryStore;

/// What a server is made to do wrong, so that checks can be tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    #[default]
    None,
    /// It does not remember what it has answered.
    ForgetsReplies,
    /// It does not see who is about to change something.
    ForgetsLocators,
    /// It does not confirm what it has got from other servers.
    ForgetsInbox,
}

/// A server and what it holds.
pub struct ServerNode {
    server: Server,
    /// What it holds.
    pub store: MemoryStore,
    /// What it does wrong.
    pub defect: Defect,
    clock: Time,
}

/// More than any test fills.
const MEMORY_BYTES: u64 = 1 << 40;

impl ServerNode {
    /// A new server.
    pub fn new(id: ServerId, map: &ClusterMap, config: &Config) -> Self {
        let server = Server::new(id, map.clone(), config.clone());
        let mut store = MemoryStore::new(MEMORY_BYTES);
        store.apply(server.genesis(&store, Time(0)));
        Self {
            server,
            store,
            defect: Defect::None,
            clock: Time(0),
        }
    }

    /// Handles an input and returns what is to be sent.
    pub fn handle(&mut self, input: Input, now: Time) -> Vec<Output> {
        self.clock = self.clock.max(now);
        let Decision { mut batch, outputs } = self.server.handle(&self.store, input, self.clock);
        spoil(&mut batch, self.defect);
        self.store.apply(batch);
        outputs
    }
}

fn spoil(batch: &mut Batch, defect: Defect) {
    let forgotten = |key: &Key| match defect {
        Defect::None => false,
        Defect::ForgetsReplies => matches!(key, Key::Reply(_)),
        Defect::ForgetsLocators => matches!(key, Key::Locator(_)),
        Defect::ForgetsInbox => matches!(key, Key::Inbox(_)),
    };
    batch
        .records
        .retain(|(key, value)| value.is_none() || !forgotten(key));
}
