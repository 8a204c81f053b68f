//! The plain event loop: one event after the other, in the order of time.

use crate::cluster::{Cluster, Consequences, Event};
use futago_base::{Duration, Time};
use std::collections::BTreeMap;

/// A cluster and the events that wait for it.
pub struct World {
    /// The cluster.
    pub cluster: Cluster,
    /// The present.
    pub now: Time,
    /// By time, then in the order in which they came to be.
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
}

impl World {
    /// A world that begins now. Time does not begin at 0, so that "never" and "at first" differ.
    pub fn new(cluster: Cluster) -> Self {
        let mut world = Self {
            cluster,
            now: Time(1_000_000_000),
            events: BTreeMap::new(),
            count: 0,
        };
        let first = world.cluster.begin();
        world.schedule(first);
        world
    }

    /// Adds events.
    pub fn schedule(&mut self, consequences: Consequences) {
        for (delay, event) in consequences {
            let mut at = self.now + delay;
            if let Event::Wake(client) = event {
                // One wake-up at a time is enough.
                at = at.max(self.now);
                let same = self.events.range((at, 0)..=(at, u64::MAX));
                let mut same = same.filter(|(_, e)| matches!(e, Event::Wake(c) if *c == client));
                if same.next().is_some() {
                    continue;
                }
            }
            self.count += 1;
            self.events.insert((at, self.count), event);
        }
    }

    /// Lets a client that has got something to do begin with it.
    pub fn run_client(&mut self, client: usize) {
        let consequences = self.cluster.run_client(client, self.now);
        self.schedule(consequences);
    }

    /// Runs until `is_over`, or for `span` at most; says whether it was over.
    pub fn run(&mut self, span: Duration, is_over: impl Fn(&Cluster) -> bool) -> bool {
        let end = self.now + span;
        while !is_over(&self.cluster) {
            match self.events.first_key_value() {
                Some((&(at, _), _)) if at <= end => {}
                _ => {
                    self.now = end;
                    return false;
                }
            }
            if let Some(((at, _), event)) = self.events.pop_first() {
                self.now = at;
                let consequences = self.cluster.handle(event, at);
                self.schedule(consequences);
            }
        }
        true
    }
}
