//! Runs, prepares and decides transactions.

use crate::answer::{Checked, Result};
use crate::transactions::PreparedStep;
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    Errno, FileId, Key, ServerId, TransactionId, View,
    record::{Participant, Target},
};
use futago_wire::{Reply, Request, Step, codec};

/// The most steps of one transaction on one server: a rename has a handful, and the removal or
/// change of a directory one a bucket.
const STEPS_MAX: usize = 256;

fn check_all<V: View>(turn: &Turn<'_, V>, steps: &[Step]) -> Checked<Vec<Target>> {
    if steps.len() > STEPS_MAX {
        return Err(Errno::EINVAL.into());
    }
    let mut targets = Vec::new();
    for step in steps {
        targets.append(&mut turn.check(step)?);
    }
    targets.sort();
    targets.dedup();
    Ok(targets)
}

pub fn execute<V: View>(turn: &mut Turn<'_, V>, steps: &[Step]) -> Result {
    check_all(turn, steps)?;
    let mut drawn = None;
    for (step, id) in draw(turn, steps) {
        drawn = drawn.or(id);
        turn.install(step, id);
    }
    Ok(Reply::Prepared(drawn).into())
}

/// Draws the identities of the directories that the steps make.
fn draw<V: View>(turn: &mut Turn<'_, V>, steps: &[Step]) -> Vec<PreparedStep> {
    let draw_one = |step: &Step| match step {
        Step::CreateDirectory(new) => (step.clone(), Some(turn.draw_id(new.home))),
        _ => (step.clone(), None),
    };
    steps.iter().map(draw_one).collect()
}

pub fn prepare<V: View>(turn: &mut Turn<'_, V>, request: &Request) -> Result {
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
    check_participants(turn, *status_server, participants)?;
    let targets = check_all(turn, steps)?;
    let prepared = draw(turn, steps);
    let drawn: Option<FileId> = prepared.iter().find_map(|(_, id)| *id);
    for target in &targets {
        turn.reserve(*transaction, target.clone());
    }
    let participant = Participant {
        status_server: *status_server,
        age: *age,
        since: turn.now,
        asked: None,
        steps: codec::encode(&prepared),
        targets,
    };
    turn.state.put(Key::Participant(*transaction), participant);
    if *status_server == turn.server.id() {
        turn.begin_transaction(*transaction, participants.clone());
    }
    Ok(Reply::Prepared(drawn).into())
}

/// The status server learns all participants, itself among them, and each exists.
fn check_participants<V: View>(
    turn: &Turn<'_, V>,
    status_server: ServerId,
    participants: &[ServerId],
) -> Checked<()> {
    let count = turn.server.map.server_count();
    let exist = participants
        .iter()
        .chain([&status_server])
        .all(|server| server.0 < count);
    let told = status_server != turn.server.id() || participants.contains(&status_server);
    if exist && told && participants.len() <= usize::from(count) {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

pub fn decide<V: View>(turn: &mut Turn<'_, V>, id: TransactionId, commit: bool) -> Result {
    let state = turn.decide_transaction(id, commit);
    // Whoever meets a locator asks for the status: nobody has to wait until all have resolved.
    turn.answer_at_once();
    Ok(Reply::Decided(state).into())
}
