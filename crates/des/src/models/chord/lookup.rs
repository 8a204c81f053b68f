use serde::Serialize;

use super::node::Node;
use super::summary::Result;
use super::{ChordEvent, NodeContext, exponential};
use crate::{Mode, Time};

/// A lookup under way.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lookup {
    key: u64,
    purpose: Purpose,
    started: Time,
    /// Nodes that have replied.
    hops: u32,
    asked: u32,
    /// The node that named the last asked node; `None` if this node knew it itself.
    named_by: Option<u32>,
    /// The number of the last question; replies to earlier ones are ignored.
    question: u32,
    failures: u8,
}

/// The purpose of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Purpose {
    User,
    Finger(u8),
    Join,
}

/// Time-outs after which a lookup fails.
const RETRIES_MAX: u8 = 8;

/// Nodes after which a lookup fails, because it goes round in circles.
const LONGEST_PATH: u32 = 128;

impl Node {
    pub(super) fn look_up_something<M: Mode>(&mut self, ctx: &mut NodeContext<'_, M>) {
        let pause = exponential(self.world.settings.lookup_every_s, ctx);
        ctx.schedule(pause, ChordEvent::LookUp);
        if self.alive {
            let key = ctx.random().bits();
            self.look_up(key, Purpose::User, ctx);
        }
    }

    pub(super) fn look_up<M: Mode>(
        &mut self,
        key: u64,
        purpose: Purpose,
        ctx: &mut NodeContext<'_, M>,
    ) {
        let (node, is_owner) = self.next_for(key);
        let lookup = Lookup {
            key,
            purpose,
            started: ctx.now(),
            hops: 0,
            asked: node,
            named_by: None,
            question: 0,
            failures: 0,
        };
        if is_owner && purpose != Purpose::Join {
            self.found(ctx.now(), &lookup, node, ctx);
        } else {
            self.ask(lookup, node, None, ctx);
        }
    }

    fn ask<M: Mode>(
        &mut self,
        mut lookup: Lookup,
        node: u32,
        gone: Option<u32>,
        ctx: &mut NodeContext<'_, M>,
    ) {
        self.questions += 1;
        let question = self.questions;
        (lookup.asked, lookup.question) = (node, question);
        self.tell(
            node,
            ChordEvent::Find {
                key: lookup.key,
                question,
                asker: self.me,
                gone,
            },
            ctx,
        );
        let timeout = Time::from_seconds(self.world.settings.timeout_s);
        ctx.schedule(timeout, ChordEvent::Overdue { question });
        self.lookups.push(lookup);
    }

    fn take_lookup(&mut self, question: u32) -> Option<Lookup> {
        let index = self
            .lookups
            .iter()
            .position(|lookup| lookup.question == question)?;
        Some(self.lookups.swap_remove(index))
    }

    pub(super) fn hear_next<M: Mode>(
        &mut self,
        now: Time,
        question: u32,
        node: u32,
        is_owner: bool,
        ctx: &mut NodeContext<'_, M>,
    ) {
        let Some(mut lookup) = self.take_lookup(question) else {
            return;
        };
        lookup.hops += 1;
        if is_owner {
            self.found(now, &lookup, node, ctx);
        } else if lookup.hops >= LONGEST_PATH || node == lookup.asked {
            self.give_up(&lookup, ctx);
        } else {
            lookup.named_by = Some(lookup.asked);
            self.ask(lookup, node, None, ctx);
        }
    }

    /// Asks the node that named the unresponsive one for another node, or chooses one itself.
    pub(super) fn overdue<M: Mode>(&mut self, question: u32, ctx: &mut NodeContext<'_, M>) {
        let Some(mut lookup) = self.take_lookup(question) else {
            return;
        };
        self.forget(lookup.asked);
        lookup.failures += 1;
        let gone = lookup.asked;
        let (node, _) = match lookup.named_by.take() {
            Some(teller) => (teller, false),
            None => self.next_for(lookup.key),
        };
        if lookup.failures >= RETRIES_MAX || node == self.me {
            self.give_up(&lookup, ctx);
        } else {
            self.ask(lookup, node, Some(gone), ctx);
        }
    }

    fn give_up<M: Mode>(&mut self, lookup: &Lookup, ctx: &mut NodeContext<'_, M>) {
        match lookup.purpose {
            Purpose::User => ctx.emit(Result::Failed),
            // The next round tries again.
            Purpose::Finger(_) | Purpose::Join => {}
        }
    }

    fn found<M: Mode>(
        &mut self,
        now: Time,
        lookup: &Lookup,
        owner: u32,
        ctx: &mut NodeContext<'_, M>,
    ) {
        match lookup.purpose {
            Purpose::User => {
                let right = self.world.ring.successors_of(lookup.key).next() == Some(owner);
                let latency = now.since(lookup.started);
                // The owner itself is the last hop.
                ctx.emit(Result::Found {
                    hops: lookup.hops + 1,
                    latency,
                    right,
                });
            }
            Purpose::Finger(finger) => self.fingers[usize::from(finger)] = owner,
            Purpose::Join => self.set_successor(owner),
        }
    }
}
