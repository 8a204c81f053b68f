//! Answers the questions of clients as their contact server.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use alloc::boxed::Box;
use futago_base::View;
use futago_wire::{Question, Reply, Request};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    request: &Request,
    question: &Question,
) -> Result {
    let relayed = builder.consult(request, question)?;
    Ok(Reply::Relayed(relayed.map(Box::new)).into())
}
