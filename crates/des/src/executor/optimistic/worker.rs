use std::time::Instant;

use super::super::seconds_since;
use super::super::team::Line;
use super::Shared;
use super::gvt::Agreed;
use super::history::History;
use super::post::{Message, Post};
use super::throttle::{Progress, Throttle};
use super::time_warp::TimeWarp;
use crate::event::{EventKey, Head, ProcessId};
use crate::fault::Error;
use crate::partition::Partition;
use crate::ranks::Ranks;
use crate::watch::Reading;
use crate::{Model, Process, Time};

/// Events between two polls of the mail.
const BATCH: u32 = 64;

/// The number of idle mail polls after which a thread requests a GVT round. A round stops all
/// threads, so slower threads should catch up first. Between polls the thread yields the CPU: with
/// more threads than cores, a slower thread may need its core.
const IDLE_POLLS_MAX: u32 = 64;

/// The default limit of a history, in events per round.
const DEFAULT_HISTORY_ROUNDS: usize = 16;

/// One thread and its partition.
pub(super) struct Worker<'a, M: Model> {
    shared: &'a Shared<'a, M>,
    thread: usize,
    warp: TimeWarp<M::Process>,
    post: Post<'a, <M::Process as Process>::Event>,
    inbox: Vec<Message<<M::Process as Process>::Event>>,
    throttle: Throttle,
    gvt: EventKey,
    rounds: u64,
    executed_before_round: u64,
    idle_polls: u32,
    /// The time of the farthest event executed since the last round.
    reach: Time,
    /// Whether an event had to wait since the last round.
    held_back: bool,
    /// Wall-clock time spent on computing GVT.
    agreeing_s: f64,
    failed: bool,
}

impl<'a, M: Model> Worker<'a, M> {
    pub fn new(
        shared: &'a Shared<'a, M>,
        thread: usize,
        mut partition: Partition<M::Process>,
    ) -> Self {
        let mut post = Post::new(
            &shared.team.partition_map,
            shared.team.station.partition(thread),
        );
        let started = partition.start(&mut post);
        Worker {
            shared,
            thread,
            warp: TimeWarp::new(partition),
            post,
            inbox: Vec::new(),
            throttle: Throttle::new(history_limit(shared)),
            gvt: EventKey::new(Time::ZERO, 0, ProcessId(0), 0),
            rounds: 0,
            executed_before_round: 0,
            idle_polls: 0,
            reach: Time::ZERO,
            held_back: false,
            agreeing_s: 0.0,
            failed: shared.team.has_failed(started),
        }
    }

    pub fn run(mut self, mut line: Line<'_>) -> Partition<M::Process> {
        loop {
            if self.wants_round() {
                self.shared.gvt.want(self.rounds + 1);
            }
            if !self.shared.gvt.is_wanted(self.rounds + 1) {
                self.work();
            } else if self.round(&mut line) {
                break;
            }
        }
        let mut partition = self.warp.into_partition();
        partition.tally.gvt_rounds = self.rounds;
        partition.tally.agreeing_s = self.agreeing_s;
        partition.tally.events_sent_away = self.post.events_sent_away;
        let team = &self.shared.team;
        if !self.failed {
            team.has_failed(team.job.finish(self.thread, &mut partition));
        }
        partition
    }

    fn wants_round(&self) -> bool {
        let executed = self.warp.executed() - self.executed_before_round;
        let company = self.shared.team.station.threads > 1;
        executed >= u64::from(self.shared.team.job.settings.gvt_interval)
            || self.idle_polls > if company { IDLE_POLLS_MAX } else { 0 }
    }

    /// Receives mail, executes some events, and sends mail.
    fn work(&mut self) {
        self.take_mail();
        let mut executed = 0;
        while executed < BATCH && self.execute_next() {
            executed += 1;
        }
        self.send_mail();
        self.idle_polls = if executed == 0 {
            self.idle_polls + 1
        } else {
            0
        };
        if executed == 0 {
            std::thread::yield_now();
        }
    }

    /// Executes the next event if it is not too far ahead. The first event of the whole model never
    /// is.
    #[inline]
    fn execute_next(&mut self) -> bool {
        let (gvt, history) = (self.gvt, self.warp.history_len());
        let oldest = || self.warp.oldest_record_time();
        let horizon = self.throttle.horizon_with(gvt.time(), history, oldest);
        let (reach, held_back) = (&mut self.reach, &mut self.held_back);
        let wanted = |head: &Head| {
            let may_run = head.time() < horizon || head.key() <= gvt;
            if may_run {
                *reach = (*reach).max(head.time());
            } else {
                *held_back = true;
            }
            may_run
        };
        self.warp.execute_next(wanted, &mut self.post)
    }

    fn take_mail(&mut self) {
        let (warp, post) = (&mut self.warp, &mut self.post);
        let deliver = |message| match message {
            Message::Event(event) => warp.insert(event),
            Message::Cancel(head) => warp.cancel(head, post),
        };
        let team = &self.shared.team;
        team.take_mail(self.thread, &mut self.inbox, deliver);
    }

    fn send_mail(&mut self) {
        for (to, bag) in self.post.bags.iter_mut().enumerate() {
            self.shared.team.mail.send(self.thread, to, bag);
        }
    }

    /// Computes GVT together with all others and commits the events before it. Returns true if the
    /// run has ended.
    fn round(&mut self, line: &mut Line<'_>) -> bool {
        let start = Instant::now();
        let Agreed { gvt, failed } = self.agree(line);
        self.agreeing_s += seconds_since(start);
        self.adapt_to(gvt);
        self.gvt = gvt;
        let committed = self.warp.commit_before(gvt, self.throttle.compact_at());
        self.failed |= self.shared.team.has_failed(committed);
        self.end_round();
        failed || gvt == EventKey::MAX
    }

    /// Computes GVT together with all others.
    fn agree(&mut self, line: &mut Line<'_>) -> Agreed {
        self.send_mail();
        self.meet(line, Shared::carry_mail);
        // From here on the only messages under way are those that the mail causes.
        self.post.earliest = EventKey::MAX;
        self.take_mail();
        self.send_mail();
        let first = self.warp.first_key().unwrap_or(EventKey::MAX);
        let earliest = first.min(self.post.earliest);
        self.shared.gvt.vote(self.thread, earliest, self.failed);
        self.meet(line, Shared::carry_votes);
        self.shared.gvt.result()
    }

    /// Waits for all threads, and for all ranks if there are several.
    fn meet(
        &self,
        line: &mut Line<'_>,
        carry: fn(&Shared<'a, M>, &mut dyn Ranks) -> Result<(), Error>,
    ) {
        let (shared, others) = (self.shared, self.shared.team.station.threads);
        let carry = |ranks: &mut dyn Ranks| carry(shared, ranks);
        let give_up = || shared.gvt.vote(others, EventKey::MAX, true);
        shared.team.meet(line, carry, give_up);
    }

    /// Adjusts the throttle to the round that has led to this GVT.
    fn adapt_to(&mut self, gvt: EventKey) {
        let rolled_back = self.warp.partition().tally.events_rolled_back;
        self.throttle.adapt(Progress {
            gvt: [self.gvt.time(), gvt.time()],
            farthest: self.reach,
            held_back: std::mem::take(&mut self.held_back),
            executed: self.warp.executed(),
            rolled_back,
        });
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        self.idle_polls = 0;
        self.executed_before_round = self.warp.executed();
        let time = self.reach;
        let tally = &self.warp.partition().tally;
        let (committed, rolled_back) = (tally.events_committed, tally.events_rolled_back);
        self.reach = self.gvt.time();
        let job = self.shared.team.job;
        let certain_until = self.gvt.time().min(job.settings.end);
        job.show(self.thread, || Reading {
            time: time.max(certain_until),
            certain_until,
            committed,
            rolled_back,
            pending: self.warp.pending_len(),
            uncertain: self.warp.history_len(),
        });
    }
}

/// The most records in the history of a partition.
fn history_limit<M: Model>(shared: &Shared<'_, M>) -> usize {
    let settings = shared.team.job.settings;
    let useful = DEFAULT_HISTORY_ROUNDS * settings.gvt_interval as usize;
    let affordable = settings.history_limit_bytes.map_or(useful, |bytes| {
        bytes as usize / History::<M::Process>::RECORD_BYTES
    });
    affordable.clamp(2, useful)
}
