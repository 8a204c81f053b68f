use std::collections::VecDeque;
use std::ops::Range;

use crate::event::{EventKey, Head};
use crate::fault::Fault;
use crate::{Process, Time};

/// The executed events of a partition that may be undone, in the order of execution.
///
/// The history is one log for all processes of the partition. Appends and removals at the front
/// access memory in order, and links connect the records of each process. The number of a record
/// never changes. An undone record stays, empty, until it is the oldest.
pub(super) struct History<P: Process> {
    records: VecDeque<Record<P>>,
    sent: VecDeque<Head>,
    outputs: VecDeque<P::Output>,
    /// The numbers of the oldest record and of the oldest sent head.
    first_record: u64,
    first_sent: u64,
}

/// One executed event.
pub(super) struct Record<P: Process> {
    pub head: Head,
    /// The number of the previous record of the same process, which may be removed.
    pub previous: u64,
    first_sent: u64,
    /// `None` once the event has been undone.
    pub content: Option<Content<P>>,
    pub fault: Option<Box<Fault>>,
    pub draws: u32,
    sent_count: u32,
    /// How far the event counter of the process advanced. It exceeds the number of sent events if
    /// some were beyond the end of the run.
    pub counted: u32,
    output_count: u32,
}

/// The data to undo an event, and to execute it again.
pub(super) struct Content<P: Process> {
    pub payload: P::Event,
    /// `None` if the handler panicked before it saved an undo, and so before it changed the
    /// process.
    pub undo: Option<P::Undo>,
}

/// The outputs of one event, at the front of all outputs. Dropping it drops the remaining ones.
pub(super) struct Outputs<'a, P: Process> {
    all: &'a mut VecDeque<P::Output>,
    count: u32,
}

impl<P: Process> Iterator for Outputs<'_, P> {
    type Item = P::Output;

    #[inline]
    fn next(&mut self) -> Option<P::Output> {
        self.count = self.count.checked_sub(1)?;
        self.all.pop_front()
    }
}

impl<P: Process> Drop for Outputs<'_, P> {
    #[inline]
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<P: Process> Record<P> {
    pub fn new(head: Head, content: Content<P>, previous: u64) -> Self {
        Record {
            head,
            previous,
            first_sent: 0,
            content: Some(content),
            fault: None,
            draws: 0,
            sent_count: 0,
            counted: 0,
            output_count: 0,
        }
    }

    /// The numbers of the heads of the events that it sent.
    pub fn sent(&self) -> Range<u64> {
        self.first_sent..self.first_sent + u64::from(self.sent_count)
    }
}

impl<P: Process> History<P> {
    /// The memory of a record, in bytes, with one sent event and two growing buffers.
    pub const RECORD_BYTES: usize = 2 * (size_of::<Record<P>>() + size_of::<Head>());

    /// The number of no record.
    pub const NONE: u64 = 0;

    pub fn new() -> Self {
        History {
            records: VecDeque::new(),
            sent: VecDeque::new(),
            outputs: VecDeque::new(),
            first_record: Self::NONE + 1,
            first_sent: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn oldest_time(&self) -> Option<Time> {
        self.records.front().map(|record| record.head.time())
    }

    /// The record with this number, unless it is removed.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&Record<P>> {
        let index = number.checked_sub(self.first_record)?;
        self.records.get(index as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Record<P>> {
        let index = number.checked_sub(self.first_record)?;
        self.records.get_mut(index as usize)
    }

    /// Appends a record with its sent events and outputs; returns its number.
    #[inline]
    pub fn push(
        &mut self,
        mut record: Record<P>,
        sent: impl Iterator<Item = Head>,
        outputs: impl Iterator<Item = P::Output>,
    ) -> u64 {
        let (sent_before, outputs_before) = (self.sent.len(), self.outputs.len());
        self.sent.extend(sent);
        self.outputs.extend(outputs);
        record.first_sent = self.first_sent + sent_before as u64;
        record.sent_count = (self.sent.len() - sent_before) as u32;
        record.output_count = (self.outputs.len() - outputs_before) as u32;
        self.records.push_back(record);
        self.first_record + self.records.len() as u64 - 1
    }

    /// The heads of the events that a record sent; see [`Record::sent`].
    pub fn sent(&self, numbers: Range<u64>) -> impl Iterator<Item = Head> + '_ {
        let start = (numbers.start - self.first_sent) as usize;
        let end = (numbers.end - self.first_sent) as usize;
        self.sent.range(start..end).copied()
    }

    /// Whether the oldest record can be removed: it is undone, or before `certain`.
    #[inline]
    fn oldest_is_done(&self, certain: EventKey) -> bool {
        self.records
            .front()
            .is_some_and(|record| record.content.is_none() || record.head.key() < certain)
    }

    /// Removes the oldest record if it is undone or before `certain`. Passes a record that is not
    /// undone to `commit`, with its outputs. Returns false if there is no such record.
    #[inline]
    pub fn retire(
        &mut self,
        certain: EventKey,
        commit: impl FnOnce(Record<P>, Outputs<'_, P>),
    ) -> bool {
        if !self.oldest_is_done(certain) {
            return false;
        }
        let Some(record) = self.records.pop_front() else {
            return false;
        };
        self.first_record += 1;
        self.first_sent += u64::from(record.sent_count);
        for _ in 0..record.sent_count {
            self.sent.pop_front();
        }
        let outputs = Outputs {
            all: &mut self.outputs,
            count: record.output_count,
        };
        if record.content.is_some() {
            commit(record, outputs);
        }
        true
    }

    /// Removes all records that are undone or before `certain`, and passes the latter to `commit`
    /// in order. `latest` has the latest record of each process.
    ///
    /// [`History::retire`] is cheaper, but one early record of a distant event blocks it.
    pub fn compact(
        &mut self,
        certain: EventKey,
        latest: &mut [u64],
        mut commit: impl FnMut(Record<P>, Outputs<'_, P>),
    ) {
        let records = std::mem::take(&mut self.records);
        let mut sent = std::mem::take(&mut self.sent);
        let mut outputs = std::mem::take(&mut self.outputs);
        // The remaining records get new numbers, so that all old numbers are invalid.
        self.first_record += records.len() as u64;
        self.first_sent += sent.len() as u64;
        for mut record in records {
            let its_sent = sent.drain(..record.sent_count as usize);
            let its_outputs = Outputs {
                all: &mut outputs,
                count: record.output_count,
            };
            if record.content.is_none() {
                continue;
            }
            if record.head.key() < certain {
                commit(record, its_outputs);
            } else {
                let latest = &mut latest[record.head.destination as usize];
                record.previous = *latest;
                *latest = self.push(record, its_sent, its_outputs);
            }
        }
    }
}
