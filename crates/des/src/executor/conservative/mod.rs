//! Windows from the lookahead.
//!
//! Every partition promises the time of its next event. From the promises and the delays between
//! partitions each computes how far it can go without anything reaching it, and goes there; then
//! all exchange mail and promise again. Nicol, "The cost of conservative synchronization in
//! parallel discrete event simulations", JACM 40(2), 1993 (YAWNS), with a bound for every
//! partition instead of one for all.

mod promises;

use std::time::Instant;

use super::carrier::{Station, carry};
use super::failure::Failure;
use super::{Finished, Job, seconds_since};
use crate::event::{Event, ProcessId};
use crate::fault::{Error, FailedEvent, Fault};
use crate::partition::{Partition, Route};
use crate::placement::{Distances, Seating};
use crate::queue::Queue;
use crate::ranks::Ranks;
use crate::sync::{Barrier, MailGrid};
use crate::watch::Reading;
use crate::{Model, Process, Time, Topology};
use promises::Promises;

/// What the partitions of a rank share.
struct Shared<'a, M: Model> {
    job: &'a Job<'a, M>,
    seating: &'a Seating,
    distances: Distances,
    station: Station,
    barrier: Barrier,
    mail: MailGrid<Event<<M::Process as Process>::Event>>,
    /// Of the even and of the odd windows: a fast thread may promise again while a slow one still
    /// reads.
    promises: [Promises; 2],
    failure: Failure,
}

pub(super) fn run<M: Model>(
    job: &Job<'_, M>,
    ranks: &mut dyn Ranks,
) -> Result<(Option<Seating>, Finished<M::Process>), Error> {
    let station = Station::new(ranks, job.settings.threads);
    let total = station.partitions();
    let seating = job.seating(total as u32);
    let shared = Shared {
        job,
        distances: seating.distances(job.model, job.topology)?,
        seating: &seating,
        station,
        barrier: Barrier::new(station.threads),
        mail: MailGrid::new(station.threads, total),
        promises: [Promises::new(total), Promises::new(total)],
        failure: Failure::default(),
    };
    let (partitions, wall_s) = run_threads(&shared, ranks);
    let error = shared.failure.into_error(job.model);
    Ok((
        Some(seating),
        Finished {
            partitions,
            wall_s,
            error,
        },
    ))
}

fn run_threads<M: Model>(
    shared: &Shared<'_, M>,
    ranks: &mut dyn Ranks,
) -> (Vec<Partition<M::Process>>, f64) {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..shared.station.threads)
            .map(|thread| scope.spawn(move || Worker::new(shared, thread).run(None)))
            .collect();
        let (leader, wall_s) = Worker::new(shared, 0).run(Some(ranks));
        let mut partitions = vec![leader];
        // Workers catch the panics of models, so a thread that is gone is a defect of the engine.
        partitions.extend(others.into_iter().map(|worker| match worker.join() {
            Ok((partition, _)) => partition,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        (partitions, wall_s)
    })
}

impl<M: Model> Shared<'_, M> {
    /// Exchanges this rank's promises and mail for those of the others.
    fn carry(&self, promises: &Promises, ranks: &mut dyn Ranks) -> Result<(), Error> {
        let station = self.station;
        let rows = (0..station.threads).map(|thread| promises.row(station.partition(thread)));
        let note = (rows.collect::<Vec<_>>(), promises.given_up());
        let notes = carry(ranks, station, &self.mail, &note)?;
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
    fn new(shared: &'a Shared<'a, M>, thread: usize) -> Self {
        let me = shared.station.partition(thread);
        Worker {
            shared,
            thread,
            partition: shared.job.partition(shared.seating.members(me as u32)),
            post: Post::new(shared.seating, shared.job.topology, me),
            inbox: Vec::new(),
            failed: false,
        }
    }

    fn run(mut self, mut ranks: Option<&mut dyn Ranks>) -> (Partition<M::Process>, f64) {
        self.shared.barrier.wait();
        let start = Instant::now();
        let started = self.partition.start(&mut self.post);
        self.note(started);
        for window in 0.. {
            let promises = &self.shared.promises[window % 2];
            self.promise(promises);
            self.agree(promises, &mut ranks);
            let Some(bound) = self.bound(promises) else {
                break;
            };
            self.collect_mail();
            if !self.failed {
                let done = self
                    .partition
                    .run_before(bound, u32::MAX, &mut self.post)
                    .map(drop);
                self.note(done);
            }
            self.partition.tally.windows += 1;
            self.show(bound);
        }
        if !self.failed {
            let finished = self.partition.finish(self.shared.job.settings.end);
            self.note(finished);
        }
        self.partition.tally.events_sent_away = self.post.sent_away;
        (self.partition, seconds_since(start))
    }

    fn note(&mut self, outcome: Result<(), FailedEvent>) {
        if let Err(failed) = outcome {
            self.failed = true;
            self.shared.failure.of_event(failed);
        }
    }

    /// Posts this partition's mail and says when it has the next event itself.
    fn promise(&mut self, promises: &Promises) {
        let next = self
            .partition
            .queue
            .first_key()
            .map_or(Time::MAX, |key| key.time());
        for (to, bag) in self.post.bags.iter_mut().enumerate() {
            promises.set_earliest_mail(self.post.me, to, bag.earliest);
            bag.earliest = Time::MAX;
            self.shared.mail.send(self.thread, to, &mut bag.events);
        }
        promises.set_next_event(self.post.me, next);
        if self.failed {
            promises.give_up();
        }
    }

    /// Waits until all partitions of all ranks have promised.
    fn agree(&self, promises: &Promises, ranks: &mut Option<&mut dyn Ranks>) {
        self.shared.barrier.wait();
        if self.shared.station.is_alone() {
            return;
        }
        if let Some(ranks) = ranks
            && let Err(error) = self.shared.carry(promises, *ranks)
        {
            self.shared.failure.of_ranks(error);
            promises.give_up();
        }
        self.shared.barrier.wait();
    }

    /// How far this partition may go; `None` if the run is over.
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

    fn collect_mail(&mut self) {
        for from in 0..self.shared.station.threads {
            self.shared.mail.take(from, self.post.me, &mut self.inbox);
            self.inbox
                .drain(..)
                .for_each(|event| self.partition.queue.push(event));
        }
    }

    fn show(&self, bound: Time) {
        if let Some(watch) = &self.shared.job.settings.watch {
            let committed = self.partition.tally.events_committed;
            let pending = self.partition.queue.len();
            let certain = Reading {
                time: bound,
                certain_until: bound,
                ..Reading::default()
            };
            watch.report(
                self.thread,
                Reading {
                    committed,
                    pending,
                    ..certain
                },
            );
        }
    }
}

/// Keeps what leaves the partition until the window is over.
struct Post<'a, E> {
    seating: &'a Seating,
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
    fn new(seating: &'a Seating, topology: &'a Topology, me: usize) -> Self {
        let bags = (0..seating.partitions())
            .map(|_| Bag {
                events: Vec::new(),
                earliest: Time::MAX,
            })
            .collect();
        Post {
            seating,
            topology,
            me,
            bags,
            sent_away: 0,
        }
    }

    /// Checks the link that an event has taken.
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
        let seat = self.seating.seat(ProcessId(event.head.destination));
        if seat.partition as usize == self.me {
            event.head.destination = seat.index;
            queue.push(event);
            return Ok(());
        }
        self.check_lookahead(now, &event)?;
        event.head.destination = seat.index;
        let bag = &mut self.bags[seat.partition as usize];
        bag.earliest = bag.earliest.min(event.head.time());
        bag.events.push(event);
        self.sent_away += 1;
        Ok(())
    }
}
