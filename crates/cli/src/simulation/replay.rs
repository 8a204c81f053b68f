//! A client's part of a recorded run, on a real cluster.

use super::part::Part;
use super::real::perform;
use futago_base::{Errno, FileId, Payload};
use futago_lab::workload::Trace;
use futago_node::{Futago, RecordedClient};
use futago_trace::ROOT;
use futago_twin::world::{Directory, Done, Phase, TraceWork};
use rustix::thread::set_current_timer_slack;
use std::{
    collections::BTreeMap,
    num::NonZeroU64,
    thread,
    time::{Duration, Instant},
};

/// A client that does what a process did.
pub struct Replay<'a> {
    pub futago: &'a Futago,
    pub client: u32,
    pub phase: &'a Phase,
    pub shared: &'a [Directory],
    /// The directory in which all takes place.
    pub root: FileId,
    /// The files of the numbers in the trace, as far as the client has met them.
    pub files: &'a mut BTreeMap<u64, FileId>,
}

impl Replay<'_> {
    /// Makes what the trace begins with, if that is the client's task. Directories may be there.
    pub fn prepare(&mut self, trace: &Trace) -> anyhow::Result<()> {
        for index in 0.. {
            let Some(work) = TraceWork::of(trace, 0, true, self.client, index) else {
                break;
            };
            match self.step(work, self.data(work))?.0 {
                Ok(_) | Err(Errno::EEXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Does what the process did, when it did it; the phase began at `began`.
    pub fn run(&mut self, trace: &Trace, began: Instant) -> anyhow::Result<Part> {
        // Think times are short. If the kernel refuses, they are a little longer.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut part = Part::default();
        for index in 0.. {
            let work = TraceWork::of(trace, 0, false, self.client, index);
            let Some((work, think_ns)) = work.zip(trace.think_ns(self.client, index)) else {
                break;
            };
            let data = self.data(work);
            let begins = began + part.ended + Duration::from_nanos(think_ns);
            thread::sleep(begins.saturating_duration_since(Instant::now()));
            part.begin(1, true);
            let (outcome, latency) = self.step(work, data)?;
            part.ended = began.elapsed();
            part.add(work.kind, outcome.map(|done| done.bytes), latency);
        }
        Ok(part)
    }

    /// The data of a step that writes.
    fn data(&self, work: TraceWork) -> Payload {
        let data = work.data(&self.phase.activity, self.client);
        data.bytes().into()
    }

    /// Performs a step. Returns what came of it, and how long it took.
    fn step(
        &mut self,
        mut work: TraceWork,
        data: Payload,
    ) -> anyhow::Result<(Result<Done, Errno>, Duration)> {
        work.files = work.files_in(&self.phase.activity, self.client, |number| match number {
            ROOT => Some(self.root),
            number => self.files.get(&number).copied(),
        });
        let (client, phase, shared) = (self.client, self.phase, self.shared);
        let timed = perform(self.futago, async |core: &RecordedClient| {
            let started = Instant::now();
            let outcome = work.perform(core, client, phase, shared, data).await;
            Ok((outcome, started.elapsed()))
        });
        let (outcome, latency) = timed?;
        let found = outcome.ok().and_then(|done| done.file);
        self.files.extend(work.finds.zip(found));
        Ok((outcome, latency))
    }
}
