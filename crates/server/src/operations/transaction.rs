//! Runs, prepares and decides transactions.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use crate::transactions::PreparedStep;
use alloc::vec::Vec;
use futago_base::{
    Errno, FileId, Key, ServerId, TransactionId, View,
    record::{Participant, Target},
};
use futago_wire::{Reply, Request, Step, codec};

/// The most steps of one transaction on one server. A rename has a handful; the removal or change
/// of a directory has one for each bucket.
const STEPS_MAX: usize = 256;

fn check_all<V: View>(builder: &DecisionBuilder<'_, V>, steps: &[Step]) -> Checked<Vec<Target>> {
    if steps.len() > STEPS_MAX {
        return Err(Errno::EINVAL.into());
    }
    let mut targets = Vec::new();
    for step in steps {
        targets.append(&mut builder.check(step)?);
    }
    targets.sort();
    targets.dedup();
    Ok(targets)
}

pub fn execute<V: View>(builder: &mut DecisionBuilder<'_, V>, steps: &[Step]) -> Result {
    check_all(builder, steps)?;
    let mut drawn = None;
    for (step, id) in draw(builder, steps) {
        drawn = drawn.or(id);
        builder.install(step, id);
    }
    Ok(Reply::Executed(drawn).into())
}

/// Assigns ids to the directories that the steps make.
fn draw<V: View>(builder: &mut DecisionBuilder<'_, V>, steps: &[Step]) -> Vec<PreparedStep> {
    let draw_one = |step: &Step| match step {
        Step::CreateDirectory(new) => (step.clone(), Some(builder.draw_id(new.home))),
        _ => (step.clone(), None),
    };
    steps.iter().map(draw_one).collect()
}

pub fn prepare<V: View>(builder: &mut DecisionBuilder<'_, V>, request: &Request) -> Result {
    let Request::Prepare {
        transaction,
        age,
        status_server,
        participants,
        steps,
    } = request
    else {
        return Err(Errno::ENOSYS.into());
    };
    check_participants(builder, *status_server, participants)?;
    let targets = check_all(builder, steps)?;
    let prepared = draw(builder, steps);
    let drawn: Option<FileId> = prepared.iter().find_map(|(_, id)| *id);
    for target in &targets {
        builder.reserve(*transaction, target.clone());
    }
    let participant = Participant {
        status_server: *status_server,
        age: *age,
        since: builder.now,
        asked: None,
        steps: codec::encode(&prepared),
        targets,
    };
    builder
        .state
        .put(Key::Participant(*transaction), participant);
    if *status_server == builder.server.id() {
        builder.begin_transaction(*transaction, participants.clone());
    }
    Ok(Reply::Prepared(drawn).into())
}

/// Checks that every participant exists, and that the status server is a participant.
fn check_participants<V: View>(
    builder: &DecisionBuilder<'_, V>,
    status_server: ServerId,
    participants: &[ServerId],
) -> Checked<()> {
    let count = builder.server.map.server_count();
    let exist = participants
        .iter()
        .chain([&status_server])
        .all(|server| server.0 < count);
    let knows_status_server =
        status_server != builder.server.id() || participants.contains(&status_server);
    if exist && knows_status_server && participants.len() <= usize::from(count) {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

pub fn decide<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: TransactionId,
    commit: bool,
) -> Result {
    let state = builder.decide_transaction(id, commit);
    // A request that meets a locator asks for the status, so the reply need not wait for all
    // participants.
    builder.reply_at_once();
    Ok(Reply::Decided(state).into())
}
