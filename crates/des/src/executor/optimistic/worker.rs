use super::Shared;
use super::gvt::Agreed;
use super::history::History;
use super::post::{Message, Post};
use super::throttle::Throttle;
use super::time_warp::TimeWarp;
use crate::event::{EventKey, Head, ProcessId};
use crate::fault::{Error, FailedEvent};
use crate::partition::Partition;
use crate::ranks::Ranks;
use crate::watch::Reading;
use crate::{Model, Process, Time};

/// Events between two looks at the mail.
const BATCH: u32 = 64;

/// Looks at the mail that an idle thread takes before it asks for GVT: a round stops everybody,
/// and those that are behind should rather catch up.
const PATIENCE: u32 = 64;

/// Rounds' worth of events that a history may hold if no limit is given.
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
    idle_turns: u32,
    /// The time of the farthest event executed since the last round.
    reach: Time,
    failed: bool,
}

impl<'a, M: Model> Worker<'a, M> {
    pub fn new(
        shared: &'a Shared<'a, M>,
        thread: usize,
        mut partition: Partition<M::Process>,
    ) -> Self {
        let mut post = Post::new(shared.seating, shared.station.partition(thread));
        let started = partition.start(&mut post);
        let mut worker = Worker {
            shared,
            thread,
            warp: TimeWarp::new(partition),
            post,
            inbox: Vec::new(),
            throttle: Throttle::new(history_limit(shared)),
            gvt: EventKey::new(Time::ZERO, 0, ProcessId(0), 0),
            rounds: 0,
            executed_before_round: 0,
            idle_turns: 0,
            reach: Time::ZERO,
            failed: false,
        };
        worker.note(started);
        worker
    }

    pub fn run(mut self, mut ranks: Option<&mut dyn Ranks>) -> Partition<M::Process> {
        loop {
            if self.wants_round() {
                self.shared.gvt.want(self.rounds + 1);
            }
            if !self.shared.gvt.is_wanted(self.rounds + 1) {
                self.work();
            } else if self.round(&mut ranks) {
                break;
            }
        }
        let mut partition = self.warp.into_partition();
        partition.tally.gvt_rounds = self.rounds;
        partition.tally.events_sent_away = self.post.events_sent_away;
        if !self.failed
            && let Err(failed) = partition.finish(self.shared.job.settings.end)
        {
            self.shared.failure.of_event(failed);
        }
        partition
    }

    fn note(&mut self, outcome: Result<(), FailedEvent>) {
        if let Err(failed) = outcome {
            self.failed = true;
            self.shared.failure.of_event(failed);
        }
    }

    fn wants_round(&self) -> bool {
        let executed = self.warp.executed() - self.executed_before_round;
        let company = self.shared.station.threads > 1;
        executed >= u64::from(self.shared.job.settings.gvt_interval)
            || self.idle_turns > if company { PATIENCE } else { 0 }
    }

    /// Takes in mail, executes some events, and sends mail.
    fn work(&mut self) {
        self.take_mail();
        let mut executed = 0;
        while executed < BATCH && self.execute_next() {
            executed += 1;
        }
        self.send_mail();
        self.idle_turns = if executed == 0 {
            self.idle_turns + 1
        } else {
            0
        };
        if executed == 0 {
            std::thread::yield_now();
        }
    }

    /// Executes the next event if it is not too far ahead. The very first of the whole model never
    /// is.
    #[inline]
    fn execute_next(&mut self) -> bool {
        let (gvt, history) = (self.gvt, self.warp.history_len());
        let oldest = || self.warp.oldest_record_time();
        let horizon = self.throttle.horizon_with(gvt.time(), history, oldest);
        let reach = &mut self.reach;
        let wanted = |head: &Head| {
            let may_run = head.time() < horizon || head.key() <= gvt;
            if may_run {
                *reach = (*reach).max(head.time());
            }
            may_run
        };
        self.warp.execute_next(wanted, &mut self.post)
    }

    fn take_mail(&mut self) {
        for from in 0..self.shared.station.threads {
            let me = self.shared.station.partition(self.thread);
            self.shared.mail.take(from, me, &mut self.inbox);
            for message in self.inbox.drain(..) {
                match message {
                    Message::Event(event) => self.warp.insert(event),
                    Message::Cancel(head) => self.warp.cancel(head, &mut self.post),
                }
            }
        }
    }

    fn send_mail(&mut self) {
        for (to, bag) in self.post.bags.iter_mut().enumerate() {
            self.shared.mail.send(self.thread, to, bag);
        }
    }

    /// Computes GVT together with all others and commits what is before it. True if the run is
    /// over.
    fn round(&mut self, ranks: &mut Option<&mut dyn Ranks>) -> bool {
        self.send_mail();
        self.meet(ranks, Shared::carry_mail);
        // From here on nothing is under way but what is sent now, in answer to the mail.
        self.post.earliest = EventKey::MAX;
        self.take_mail();
        self.send_mail();
        let first = self.warp.first_key().unwrap_or(EventKey::MAX);
        self.shared
            .gvt
            .vote(self.thread, first.min(self.post.earliest), self.failed);
        self.meet(ranks, Shared::carry_votes);
        let Agreed { gvt, failed } = self.shared.gvt.result();
        self.gvt = gvt;
        let committed = self.warp.commit_before(gvt, self.throttle.crowded());
        self.note(committed);
        self.end_round();
        failed || gvt == EventKey::MAX
    }

    /// Waits for all threads, and for all ranks if there are several.
    fn meet(
        &mut self,
        ranks: &mut Option<&mut dyn Ranks>,
        carry: fn(&Shared<'a, M>, &mut dyn Ranks) -> Result<(), Error>,
    ) {
        self.shared.barrier.wait();
        if self.shared.station.is_alone() {
            return;
        }
        if let Some(ranks) = ranks
            && let Err(error) = carry(self.shared, *ranks)
        {
            self.shared.failure.of_ranks(error);
            self.shared
                .gvt
                .vote(self.shared.station.threads, EventKey::MAX, true);
        }
        self.shared.barrier.wait();
    }

    fn end_round(&mut self) {
        let waited = self.idle_turns > 0;
        self.rounds += 1;
        self.idle_turns = 0;
        self.executed_before_round = self.warp.executed();
        let (executed, time) = (self.warp.executed(), self.reach);
        let tally = &self.warp.partition().tally;
        let (committed, rolled_back) = (tally.events_committed, tally.events_rolled_back);
        self.throttle
            .adapt(time.since(self.gvt.time()), waited, executed, rolled_back);
        self.reach = self.gvt.time();
        if let Some(watch) = &self.shared.job.settings.watch {
            let reading = Reading {
                time,
                certain_until: self.gvt.time().min(self.shared.job.settings.end),
                committed,
                rolled_back,
                pending: self.warp.pending_len(),
                uncertain: self.warp.history_len(),
            };
            watch.report(self.thread, reading);
        }
    }
}

/// How many records a partition's history may hold.
fn history_limit<M: Model>(shared: &Shared<'_, M>) -> usize {
    let settings = shared.job.settings;
    let useful = DEFAULT_HISTORY_ROUNDS * settings.gvt_interval as usize;
    let affordable = settings.history_limit_bytes.map_or(useful, |bytes| {
        bytes as usize / History::<M::Process>::RECORD_BYTES
    });
    affordable.clamp(2, useful)
}
