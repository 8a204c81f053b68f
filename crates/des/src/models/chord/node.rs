use std::sync::Arc;

use serde::Serialize;

use super::lookup::{Lookup, Purpose};
use super::ring::{is_within, position};
use super::summary::{Lookups, Result};
use super::{ChordEvent, NodeContext, SUCCESSORS, World, exponential};
use crate::{Cloneable, Forward, Mode, ProcessId, Time};

/// A node of the ring.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    pub(super) me: u32,
    pub(super) alive: bool,
    predecessor: Option<u32>,
    successors: [u32; SUCCESSORS],
    /// `fingers[i]`: the first node at least 2^(64 - i - 1) after this one, as far as known.
    pub(super) fingers: Vec<u32>,
    next_finger: u8,
    /// The round of stabilization whose reply is pending.
    stabilizing: u32,
    answered: bool,
    pub(super) lookups: Vec<Lookup>,
    pub(super) questions: u32,
    #[serde(skip)]
    pub(super) world: Arc<World>,
}

impl Node {
    pub(super) fn new(world: &Arc<World>, me: u32) -> Node {
        let ring = &world.ring;
        let mut successors = [me; SUCCESSORS];
        let after = ring.successors_of(position(me)).skip(1);
        successors
            .iter_mut()
            .zip(after)
            .for_each(|(known, node)| *known = node);
        let count = (world.settings.nodes.max(2).ilog2() + 3).min(64) as u8;
        let first_at = |key| ring.successors_of(key).next().unwrap_or(me);
        Node {
            me,
            alive: true,
            predecessor: ring.predecessor_of(position(me)),
            successors,
            fingers: (0..count)
                .map(|finger| first_at(finger_start(me, finger)))
                .collect(),
            next_finger: 0,
            stabilizing: 0,
            answered: true,
            lookups: Vec::new(),
            questions: 0,
            world: Arc::clone(world),
        }
    }

    /// The node to ask about a key: its owner, or the closest known node before it.
    pub(super) fn next_for(&self, key: u64) -> (u32, bool) {
        let here = position(self.me);
        let successor = self.successors[0];
        if is_within(key, here, position(successor)) {
            return (successor, true);
        }
        let known = self.fingers.iter().chain(&self.successors).copied();
        let before = known.filter(|&node| {
            node != self.me && is_within(position(node), here, key.wrapping_sub(1))
        });
        (
            before
                .max_by_key(|&node| position(node).wrapping_sub(here))
                .unwrap_or(successor),
            false,
        )
    }

    /// Removes a node that does not reply.
    pub(super) fn forget(&mut self, gone: u32) {
        if self.predecessor == Some(gone) {
            self.predecessor = None;
        }
        for finger in self.fingers.iter_mut().filter(|finger| **finger == gone) {
            *finger = self.me;
        }
        if let Some(index) = self.successors.iter().position(|&node| node == gone) {
            self.successors.copy_within(index + 1.., index);
        }
    }

    pub(super) fn set_successor(&mut self, node: u32) {
        if node != self.successors[0] {
            self.successors.copy_within(..SUCCESSORS - 1, 1);
            self.successors[0] = node;
        }
    }

    fn stabilize<M: Mode>(&mut self, ctx: &mut NodeContext<'_, M>) {
        ctx.schedule(
            Time::from_seconds(self.world.settings.stabilize_every_s),
            ChordEvent::Stabilize,
        );
        if self.alive && self.successors[0] != self.me {
            self.stabilizing += 1;
            self.answered = false;
            let round = self.stabilizing;
            self.tell(
                self.successors[0],
                ChordEvent::Neighbours { asker: self.me },
                ctx,
            );
            let timeout = Time::from_seconds(self.world.settings.timeout_s);
            ctx.schedule(timeout, ChordEvent::SuccessorOverdue { round });
        }
    }

    /// Replies to a node that takes itself for the predecessor.
    fn send_neighbours<M: Mode>(&mut self, asker: u32, ctx: &mut NodeContext<'_, M>) {
        let answer = ChordEvent::AreNeighbours {
            from: self.me,
            predecessor: self.predecessor,
            successors: self.successors,
        };
        self.tell(asker, answer, ctx);
        let closer = |known| is_within(position(asker), position(known), position(self.me));
        if self.predecessor.is_none_or(closer) {
            self.predecessor = Some(asker);
        }
    }

    fn hear_neighbours(&mut self, from: u32, predecessor: Option<u32>, after: &[u32; SUCCESSORS]) {
        self.answered = true;
        self.successors[0] = from;
        self.successors[1..].copy_from_slice(&after[..SUCCESSORS - 1]);
        let between = |&node: &u32| {
            node != from && is_within(position(node), position(self.me), position(from))
        };
        if let Some(closer) = predecessor.filter(between) {
            self.set_successor(closer);
        }
    }

    fn successor_overdue(&mut self, round: u32) {
        if round == self.stabilizing && !self.answered {
            self.forget(self.successors[0]);
        }
    }

    fn fix_finger<M: Mode>(&mut self, ctx: &mut NodeContext<'_, M>) {
        let pause = self.world.settings.fix_finger_every_s / self.fingers.len() as f64;
        ctx.schedule(Time::from_seconds(pause), ChordEvent::FixFinger);
        if self.alive {
            let finger = self.next_finger;
            self.next_finger = (finger + 1) % self.fingers.len() as u8;
            self.look_up(finger_start(self.me, finger), Purpose::Finger(finger), ctx);
        }
    }

    fn churn<M: Mode>(&mut self, ctx: &mut NodeContext<'_, M>) {
        let Some(mean_s) = self.world.settings.lifetime_s else {
            return;
        };
        let delay = exponential(mean_s, ctx);
        ctx.schedule(delay, ChordEvent::Churn);
        self.alive = !self.alive;
        self.lookups.clear();
        if self.alive {
            // The node returns with its former knowledge, and asks for its position now.
            self.predecessor = None;
            self.look_up(position(self.me).wrapping_add(1), Purpose::Join, ctx);
        }
    }

    pub(super) fn tell<M: Mode>(&self, to: u32, what: ChordEvent, ctx: &mut NodeContext<'_, M>) {
        let delay = self.world.settings.delay(ctx);
        ctx.send(ProcessId(to), delay, what);
    }
}

/// The start of a finger.
fn finger_start(node: u32, finger: u8) -> u64 {
    position(node).wrapping_add(1 << (63 - finger))
}

impl Cloneable for Node {
    type Event = ChordEvent;
    type Output = Result;
    type Record = Lookups;

    /// Timers start at random moments, so that nodes do not act in step.
    fn start(&mut self, ctx: &mut NodeContext<'_, Forward>) {
        let world = Arc::clone(&self.world);
        let settings = &world.settings;
        let fix_every_s = settings.fix_finger_every_s / self.fingers.len() as f64;
        let lookup = exponential(settings.lookup_every_s, ctx);
        ctx.schedule(lookup, ChordEvent::LookUp);
        for (period_s, timer) in [
            (settings.stabilize_every_s, ChordEvent::Stabilize),
            (fix_every_s, ChordEvent::FixFinger),
        ] {
            let first = Time::from_seconds(ctx.random().uniform(0.0, period_s));
            ctx.schedule(first, timer);
        }
        if let Some(mean_s) = settings.lifetime_s {
            let first = exponential(mean_s, ctx);
            ctx.schedule(first, ChordEvent::Churn);
        }
    }

    fn handle<M: Mode>(&mut self, now: Time, event: &ChordEvent, ctx: &mut NodeContext<'_, M>) {
        match *event {
            ChordEvent::LookUp => self.look_up_something(ctx),
            ChordEvent::Stabilize => self.stabilize(ctx),
            ChordEvent::FixFinger => self.fix_finger(ctx),
            ChordEvent::Churn => self.churn(ctx),
            // A node that is away receives nothing.
            _ if !self.alive => {}
            ChordEvent::Find {
                key,
                question,
                asker,
                gone,
            } => {
                gone.into_iter().for_each(|gone| self.forget(gone));
                let (node, is_owner) = self.next_for(key);
                self.tell(
                    asker,
                    ChordEvent::Next {
                        question,
                        node,
                        is_owner,
                    },
                    ctx,
                );
            }
            ChordEvent::Next {
                question,
                node,
                is_owner,
            } => {
                self.hear_next(now, question, node, is_owner, ctx);
            }
            ChordEvent::Overdue { question } => self.overdue(question, ctx),
            ChordEvent::Neighbours { asker } => self.send_neighbours(asker, ctx),
            ChordEvent::AreNeighbours {
                from,
                predecessor,
                successors,
            } => {
                self.hear_neighbours(from, predecessor, &successors);
            }
            ChordEvent::SuccessorOverdue { round } => self.successor_overdue(round),
        }
    }

    fn commit(record: &mut Lookups, _: Time, result: Result) {
        record.add(result);
    }
}
