use std::panic::{AssertUnwindSafe, catch_unwind};

use super::agenda::Agenda;
use super::history::{Content, History, Record};
use super::post::Post;
use super::quiet::speculate;
use crate::event::{Event, EventKey, Head};
use crate::fault::{FailedEvent, Fault};
use crate::partition::Partition;
use crate::queue::Queue;
use crate::undo::{Speculative, take_rescued};
use crate::watch::TraceRow;
use crate::{Process, Time};

/// A partition that executes events before they are certain, and undoes them.
///
/// Jefferson, "Virtual time", ACM TOPLAS 7(3), 1985.
pub(crate) struct TimeWarp<P: Process> {
    partition: Partition<P>,
    agenda: Agenda<P::Event>,
    history: History<P>,
    /// The number of the latest record of each process.
    latest: Vec<u64>,
    /// Events of this partition that are still to be cancelled.
    cancelled: Vec<Head>,
    executed: u64,
}

impl<P: Process> TimeWarp<P> {
    /// Continues with a partition whose processes have started.
    pub fn new(mut partition: Partition<P>) -> Self {
        let agenda = Agenda::new(std::mem::replace(&mut partition.queue, Queue::new()));
        TimeWarp {
            latest: vec![History::<P>::NONE; partition.slots.len()],
            partition,
            agenda,
            history: History::new(),
            cancelled: Vec::new(),
            executed: 0,
        }
    }

    pub fn into_partition(mut self) -> Partition<P> {
        self.partition.queue = self.agenda.queue;
        self.partition
    }

    pub fn partition(&mut self) -> &mut Partition<P> {
        &mut self.partition
    }

    /// All executed events, including those that were undone.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// The time of the oldest record.
    pub fn oldest_record_time(&self) -> Time {
        self.history.oldest_time().unwrap_or(Time::MAX)
    }

    pub fn history_len(&self) -> usize {
        self.history.len()
    }

    pub fn pending_len(&self) -> usize {
        self.agenda.queue.len()
    }

    pub fn first_key(&mut self) -> Option<EventKey> {
        self.agenda.first_key()
    }

    /// The first event.
    pub fn first_event(&mut self) -> Option<(Head, &P::Event)> {
        self.agenda.first()
    }

    /// Inserts an event from another partition.
    pub fn insert(&mut self, event: Event<P::Event>) {
        self.agenda.insert(event);
    }

    /// Cancels an event from another partition, and undoes it if it was executed.
    pub fn cancel(&mut self, head: Head, post: &mut Post<'_, P::Event>) {
        self.cancelled.push(head);
        self.cancel_all(post);
    }

    /// Executes the first event if `wanted` accepts it.
    #[inline]
    pub fn execute_next(
        &mut self,
        wanted: impl FnOnce(&Head) -> bool,
        post: &mut Post<'_, P::Event>,
    ) -> bool {
        let Some(event) = self.agenda.pop_if(wanted) else {
            return false;
        };
        let index = event.head.destination as usize;
        let key = event.head.key();
        if self
            .history
            .get(self.latest[index])
            .is_some_and(|record| record.head.key() > key)
        {
            self.partition.tally.stragglers += 1;
            self.roll_back(index, key, post);
            self.cancel_all(post);
        }
        self.execute(event, post);
        true
    }

    #[inline]
    fn execute(&mut self, event: Event<P::Event>, post: &mut Post<'_, P::Event>) {
        let Event { head, payload } = event;
        let index = head.destination as usize;
        let (slot, outbox) = (&mut self.partition.slots[index], &mut self.partition.outbox);
        let (draws, counted) = (slot.random.draws(), slot.events_sent);
        let handled = speculate(|| slot.handle::<Speculative>(head.key(), &payload, outbox));
        let (undo, fault) = match handled {
            Ok(saved) => (saved.into_undo(), outbox.fault.take()),
            Err(fault) => (take_rescued(), Some(fault)),
        };
        if fault.is_some() {
            outbox.clear();
        }
        let mut record = Record::new(head, Content { payload, undo }, self.latest[index]);
        record.fault = fault.map(Box::new);
        record.draws = (slot.random.draws() - draws) as u32;
        record.counted = (slot.events_sent - counted) as u32;
        let sent = outbox.events.iter().map(|event| event.head);
        self.latest[index] = self.history.push(record, sent, outbox.outputs.drain(..));
        for event in outbox.events.drain(..) {
            post.send(&mut self.agenda, event);
        }
        self.executed += 1;
    }

    /// Undoes all events of a process from `key` on; they are pending again. Events that they had
    /// sent within this partition are added to `cancelled`.
    fn roll_back(&mut self, index: usize, key: EventKey, post: &mut Post<'_, P::Event>) {
        let slot = &mut self.partition.slots[index];
        while let Some(record) = self.history.get_mut(self.latest[index])
            && record.head.key() >= key
        {
            self.latest[index] = record.previous;
            slot.random.rewind(u64::from(record.draws));
            slot.events_sent -= u64::from(record.counted);
            slot.events_rolled_back += 1;
            self.partition.tally.events_rolled_back += 1;
            if let Some(content) = record.content.take() {
                content
                    .undo
                    .into_iter()
                    .for_each(|undo| slot.process.undo(undo));
                self.agenda.insert(Event {
                    head: record.head,
                    payload: content.payload,
                });
            }
            let sent = record.sent();
            for head in self.history.sent(sent) {
                post.cancel(&mut self.cancelled, head);
            }
        }
    }

    /// Cancels events until none is left; each may lead to rollbacks and further cancellations.
    fn cancel_all(&mut self, post: &mut Post<'_, P::Event>) {
        while let Some(head) = self.cancelled.pop() {
            let index = head.destination as usize;
            self.partition.tally.cancellations += 1;
            if self.has_executed(index, head.key()) {
                self.roll_back(index, head.key(), post);
            }
            self.agenda.cancel(head.key());
        }
    }

    /// Whether a process has executed an event after `key`.
    #[inline]
    pub fn has_executed_after(&self, index: usize, key: EventKey) -> bool {
        self.history
            .get(self.latest[index])
            .is_some_and(|record| record.head.key() > key)
    }

    /// Undoes the last `count` events of a process, or as many as the history holds. Returns the
    /// key of the first of them.
    pub fn undo_last(
        &mut self,
        index: usize,
        count: u64,
        post: &mut Post<'_, P::Event>,
    ) -> Option<EventKey> {
        let mut first = self.history.get(self.latest[index])?;
        for _ in 1..count {
            first = self.history.get(first.previous).unwrap_or(first);
        }
        let key = first.head.key();
        self.roll_back(index, key, post);
        self.cancel_all(post);
        Some(key)
    }

    fn has_executed(&self, index: usize, key: EventKey) -> bool {
        let mut number = self.latest[index];
        while let Some(record) = self.history.get(number)
            && record.head.key() >= key
        {
            if record.head.key() == key {
                return true;
            }
            number = record.previous;
        }
        false
    }

    /// Commits events before `certain`, and removes their undos. It removes all of them if
    /// `compact_at` or more records would stay otherwise, else only those at the front.
    pub fn commit_before(
        &mut self,
        certain: EventKey,
        compact_at: usize,
    ) -> Result<(), FailedEvent> {
        let history_peak = &mut self.partition.tally.history_peak;
        *history_peak = (*history_peak).max(self.history.len() as u64);
        let (partition, history) = (&mut self.partition, &mut self.history);
        let latest = &mut self.latest;
        let committed = catch_unwind(AssertUnwindSafe(|| {
            let mut outcome = Ok(());
            while outcome.is_ok()
                && history.retire(certain, |record, outputs| {
                    outcome = commit(partition, record, outputs);
                })
            {}
            if outcome.is_ok() && history.len() >= compact_at {
                history.compact(certain, latest, |record, outputs| {
                    if outcome.is_ok() {
                        outcome = commit(partition, record, outputs);
                    }
                });
            }
            outcome
        }));
        committed.unwrap_or_else(|panic| Err(self.partition.failed(Fault::from_panic(&*panic))))
    }
}

fn commit<P: Process>(
    partition: &mut Partition<P>,
    record: Record<P>,
    outputs: impl Iterator<Item = P::Output>,
) -> Result<(), FailedEvent> {
    partition.current = record.head;
    if let Some(fault) = record.fault {
        return Err(partition.failed(*fault));
    }
    let Some(content) = record.content else {
        return Ok(());
    };
    let key = record.head.key();
    let slot = &mut partition.slots[record.head.destination as usize];
    slot.certify(key, &content.payload)?;
    for output in outputs {
        slot.process.commit(key.time(), output);
    }
    if let Some(trace) = &mut partition.trace {
        trace.push(TraceRow {
            key,
            destination: slot.id,
        });
    }
    partition.tally.events_committed += 1;
    Ok(())
}
