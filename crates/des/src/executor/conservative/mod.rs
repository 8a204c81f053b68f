//! Windows from the lookahead.
//!
//! Every partition promises the time of its next event. From the promises and the delays between
//! partitions each computes the time before which no message can arrive, and runs up to it. Then
//! all exchange mail and promise again. Nicol, "The cost of conservative synchronization in
//! parallel discrete event simulations", JACM 40(2), 1993 (YAWNS), with a bound for every partition
//! instead of one for all.

mod promises;

use super::carrier::carry;
use super::team::{Line, Team};
use super::{Finished, Job};
use crate::event::{Event, ProcessId};
use crate::fault::{Error, Fault};
use crate::partition::{Partition, Route};
use crate::placement::{Distances, PartitionMap};
use crate::queue::Queue;
use crate::ranks::Ranks;
use crate::{Model, Process, Time, Topology};
use promises::Promises;

/// The shared state of the partitions of a rank.
struct Shared<'a, M: Model> {
    team: Team<'a, M, Event<<M::Process as Process>::Event>>,
    distances: Distances,
    /// Promises of the even and of the odd windows: a fast thread may promise again while a slow
    /// one still reads.
    promises: [Promises; 2],
}

pub(super) fn run<M: Model>(
    job: &Job<'_, M>,
    ranks: &mut dyn Ranks,
) -> Result<(Option<PartitionMap>, Finished<M::Process>), Error> {
    let team = Team::new(job, ranks);
    let total = team.station.partitions();
    let shared = Shared {
        distances: team.partition_map.distances(job.model, job.topology)?,
        promises: [Promises::new(total), Promises::new(total)],
        team,
    };
    let (partitions, wall_s) = shared.team.run(ranks, |thread, partition, line| {
        Worker::new(&shared, thread, partition).run(line)
    });
    Ok(shared.team.finish(partitions, wall_s))
}

impl<M: Model> Shared<'_, M> {
    /// Exchanges the promises and mail of this rank for those of the others.
    fn carry(&self, promises: &Promises, ranks: &mut dyn Ranks) -> Result<(), Error> {
        let station = self.team.station;
        let rows = (0..station.threads).map(|thread| promises.row(station.partition(thread)));
        let note = (rows.collect::<Vec<_>>(), promises.given_up());
        let notes = carry(ranks, station, &self.team.mail, &note)?;
        for (rank, (rows, given_up)) in notes.iter().enumerate() {
            for (thread, row) in rows.iter().enumerate() {
                promises.set_row(rank * station.threads + thread, row);
            }
            if *given_up {
                promises.give_up();
            }
        }
        Ok(())
    }
}

/// One thread and its partition.
struct Worker<'a, M: Model> {
    shared: &'a Shared<'a, M>,
    thread: usize,
    partition: Partition<M::Process>,
    post: Post<'a, <M::Process as Process>::Event>,
    inbox: Vec<Event<<M::Process as Process>::Event>>,
    failed: bool,
}

impl<'a, M: Model> Worker<'a, M> {
    fn new(shared: &'a Shared<'a, M>, thread: usize, partition: Partition<M::Process>) -> Self {
        let team = &shared.team;
        Worker {
            shared,
            thread,
            partition,
            post: Post::new(
                &team.partition_map,
                team.job.topology,
                team.station.partition(thread),
            ),
            inbox: Vec::new(),
            failed: false,
        }
    }

    fn run(mut self, mut line: Line<'_>) -> Partition<M::Process> {
        let team = &self.shared.team;
        let started = self.partition.start(&mut self.post);
        self.failed = team.has_failed(started);
        for window in 0.. {
            let promises = &self.shared.promises[window % 2];
            self.promise(promises);
            let carry = |ranks: &mut dyn Ranks| self.shared.carry(promises, ranks);
            team.meet(&mut line, carry, || promises.give_up());
            let Some(bound) = self.bound(promises) else {
                break;
            };
            self.run_window(bound);
        }
        if !self.failed {
            team.has_failed(team.job.finish(self.thread, &mut self.partition));
        }
        self.partition.tally.events_sent_away = self.post.sent_away;
        self.partition
    }

    /// Executes the events of this partition before `bound`.
    fn run_window(&mut self, bound: Time) {
        let team = &self.shared.team;
        let queue = &mut self.partition.queue;
        team.take_mail(self.thread, &mut self.inbox, |event| queue.push(event));
        if !self.failed {
            let (partition, post) = (&mut self.partition, &mut self.post);
            let done = team.job.run_before(bound, self.thread, partition, post);
            self.failed = team.has_failed(done);
        }
        self.partition.tally.windows += 1;
    }

    /// Sends the mail of this partition and promises the time of its own next event.
    fn promise(&mut self, promises: &Promises) {
        let next = self
            .partition
            .queue
            .first_key()
            .map_or(Time::MAX, |key| key.time());
        for (to, bag) in self.post.bags.iter_mut().enumerate() {
            promises.set_earliest_mail(self.post.me, to, bag.earliest);
            bag.earliest = Time::MAX;
            let mail = &self.shared.team.mail;
            mail.send(self.thread, to, &mut bag.events);
        }
        promises.set_next_event(self.post.me, next);
        if self.failed {
            promises.give_up();
        }
    }

    /// The time up to which this partition may run; `None` if the run has ended.
    fn bound(&self, promises: &Promises) -> Option<Time> {
        if promises.given_up() {
            return None;
        }
        let mut bound = Time::MAX;
        let mut over = true;
        for other in 0..self.post.bags.len() {
            let next = promises.next_event(other);
            over &= next == Time::MAX;
            let delay = self.shared.distances.between(other, self.post.me);
            bound = bound.min(next.saturating_add(delay));
        }
        (!over).then_some(bound)
    }
}

/// Buffers the events that leave the partition until the end of the window.
struct Post<'a, E> {
    partition_map: &'a PartitionMap,
    topology: &'a Topology,
    me: usize,
    bags: Vec<Bag<E>>,
    sent_away: u64,
}

/// Mail for one partition.
struct Bag<E> {
    events: Vec<Event<E>>,
    earliest: Time,
}

impl<'a, E> Post<'a, E> {
    fn new(partition_map: &'a PartitionMap, topology: &'a Topology, me: usize) -> Self {
        let bags = (0..partition_map.partitions())
            .map(|_| Bag {
                events: Vec::new(),
                earliest: Time::MAX,
            })
            .collect();
        Post {
            partition_map,
            topology,
            me,
            bags,
            sent_away: 0,
        }
    }

    /// Checks the delay of an event against the lookahead of its link.
    fn check_lookahead(&self, now: Time, event: &Event<E>) -> Result<(), Fault> {
        let to = ProcessId(event.head.destination);
        let declared = self.topology.lookahead(event.head.key().source(), to);
        let delay = event.head.time().since(now);
        if delay < declared {
            return Err(Fault::Lookahead {
                to,
                delay,
                declared,
            });
        }
        Ok(())
    }
}

impl<E> Route<E> for Post<'_, E> {
    #[inline]
    fn route(&mut self, queue: &mut Queue<E>, now: Time, mut event: Event<E>) -> Result<(), Fault> {
        let locate = self.partition_map.locate(ProcessId(event.head.destination));
        if locate.partition as usize == self.me {
            event.head.destination = locate.index;
            queue.push(event);
            return Ok(());
        }
        self.check_lookahead(now, &event)?;
        event.head.destination = locate.index;
        let bag = &mut self.bags[locate.partition as usize];
        bag.earliest = bag.earliest.min(event.head.time());
        bag.events.push(event);
        self.sent_away += 1;
        Ok(())
    }
}
