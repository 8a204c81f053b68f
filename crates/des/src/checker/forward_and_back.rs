//! Every event forward, back and forward again.

use super::fields::Fields;
use super::{Broken, Difference};
use crate::digest::WalkError;
use crate::event::{Event, ProcessId};
use crate::executor::Job;
use crate::executor::sequential::Here;
use crate::fault::{Error, FailedEvent};
use crate::partition::Partition;
use crate::undo::Speculative;
use crate::{Model, Process, Settings};

/// Returns the number of events, and the digest.
pub(super) fn check<M: Model>(model: &M, settings: &Settings) -> Result<(u64, String), Broken> {
    let topology = model.topology();
    let job = Job {
        model,
        settings,
        topology: &topology,
    };
    let mut partition = job.partition((0..model.process_count()).map(ProcessId));
    let failed = |failed: FailedEvent| Broken::Run(failed.into_error(model));
    partition.start(&mut Here).map_err(failed)?;
    let mut events = 0;
    while let Some(event) = partition.queue.pop_if(|_| true) {
        partition.current = event.head;
        check_event(model, &mut partition, &event)?;
        settle(&mut partition, &event).map_err(failed)?;
        events += 1;
    }
    partition.finish(settings.end).map_err(failed)?;
    Ok((events, format!("{:016x}", partition.tally.digest)))
}

/// Leaves the process in its state after the event, and the sent events in the outbox.
fn check_event<M: Model>(
    model: &M,
    partition: &mut Partition<M::Process>,
    event: &Event<<M::Process as Process>::Event>,
) -> Result<(), Broken> {
    let slot = &mut partition.slots[event.head.destination as usize];
    let outbox = &mut partition.outbox;
    let key = event.head.key();
    let (draws, sent) = (slot.random.draws(), slot.events_sent);
    let fields = |process: &M::Process| Fields::of(process).map_err(unserializable);
    let describe = || {
        Fields::of(&event.payload)
            .map(|fields| fields.line())
            .unwrap_or_default()
    };

    let (process, time) = (model.name(slot.id), key.time());
    let before = fields(&slot.process)?;
    let undo = slot
        .handle::<Speculative>(key, &event.payload, outbox)
        .into_undo();
    let first = fields(&slot.process)?;
    let first_sent = Fields::of(&outbox.events).map_err(unserializable)?;
    outbox.clear();
    undo.into_iter().for_each(|undo| slot.process.undo(undo));
    slot.random.rewind(slot.random.draws() - draws);
    slot.events_sent = sent;
    let difference_of = |(field, first, second)| {
        let event = describe();
        Box::new(Difference {
            process: process.clone(),
            event,
            time,
            field,
            first,
            second,
        })
    };
    if let Some(found) = before.difference(&fields(&slot.process)?) {
        return Err(Broken::NotRestored(difference_of(found)));
    }
    let _unused = slot.handle::<Speculative>(key, &event.payload, outbox);
    let second = fields(&slot.process)?;
    let second_sent = Fields::of(&outbox.events).map_err(unserializable)?;
    let difference = first
        .difference(&second)
        .or_else(|| first_sent.difference(&second_sent));
    if let Some(found) = difference {
        return Err(Broken::NotRepeatable(difference_of(found)));
    }
    Ok(())
}

fn settle<P: Process>(
    partition: &mut Partition<P>,
    event: &Event<P::Event>,
) -> Result<(), FailedEvent> {
    let key = event.head.key();
    let slot = &mut partition.slots[event.head.destination as usize];
    slot.certify(key, &event.payload)?;
    partition.release(&mut Here)
}

fn unserializable(error: WalkError) -> Broken {
    Broken::Run(Error::Settings(format!(
        "a process or event cannot be serialized: {error}"
    )))
}
