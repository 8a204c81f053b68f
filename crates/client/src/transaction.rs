//! Changes of several records at once: on one server in one message, on several as a transaction in
//! the manner of dynamic software transactional memory (Herlihy et al., PODC 2003).

use crate::{
    Client, Context,
    client::{UNEXPECTED, all_or_failure},
    join_all,
};
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{FileId, ServerId, Time, TransactionId, record::TransactionState};
use futago_wire::{Failure, Reply, Request, Step};

/// The steps of a change, by the server that does them.
#[derive(Debug, Default)]
pub struct Plan(BTreeMap<ServerId, Vec<Step>>);

impl Plan {
    /// Adds a step.
    pub fn add(&mut self, server: ServerId, step: Step) {
        self.0.entry(server).or_default().push(step);
    }
}

/// A transaction that is being prepared.
pub struct Transaction<'client, C> {
    client: &'client Client<C>,
    id: TransactionId,
    /// When the first attempt at the operation began: older ones win.
    age: Time,
    status_server: ServerId,
    participants: Vec<ServerId>,
}

impl<C: Context> Transaction<'_, C> {
    /// Reserves what some steps need on one server. The status server must be the first. Returns the
    /// identity of the directory that the steps make, if they make one.
    pub async fn prepare(
        &self,
        server: ServerId,
        steps: Vec<Step>,
    ) -> Result<Option<FileId>, Failure> {
        let participants = if server == self.status_server {
            self.participants.clone()
        } else {
            Vec::new()
        };
        let request = Request::Prepare {
            transaction: self.id,
            age: self.age,
            status_server: self.status_server,
            participants,
            steps,
        };
        match self.client.ask(server, request).await? {
            Reply::Prepared(id) => Ok(id),
            _ => Err(UNEXPECTED),
        }
    }

    /// Ends the transaction: commits it if everything is prepared, gives it up otherwise and returns
    /// why.
    pub async fn conclude<T>(self, prepared: Result<T, Failure>) -> Result<T, Failure> {
        let commit = prepared.is_ok();
        let decided = self.decide(commit).await;
        let value = prepared?;
        match decided? {
            TransactionState::Committed => Ok(value),
            TransactionState::Active | TransactionState::Aborted => Err(Failure::Aborted),
        }
    }

    async fn decide(&self, commit: bool) -> Result<TransactionState, Failure> {
        let request = Request::Decide {
            transaction: self.id,
            commit,
        };
        match self.client.ask(self.status_server, request).await? {
            Reply::Decided(state) => Ok(state),
            _ => Err(UNEXPECTED),
        }
    }
}

impl<C: Context> Client<C> {
    /// A transaction of which nothing is prepared; the status server is one of the participants.
    pub(crate) fn begin(
        &self,
        age: Time,
        status_server: ServerId,
        participants: Vec<ServerId>,
    ) -> Transaction<'_, C> {
        let id = TransactionId {
            session: self.context().session(),
            sequence: self.context().next_sequence(),
        };
        Transaction {
            client: self,
            id,
            age,
            status_server,
            participants,
        }
    }

    /// Does all steps of a plan or none.
    pub(crate) async fn execute(&self, plan: Plan, age: Time) -> Result<(), Failure> {
        let mut steps = plan.0;
        let participants: Vec<ServerId> = steps.keys().copied().collect();
        let Some((status_server, first)) = steps.pop_first() else {
            return Ok(());
        };
        if steps.is_empty() {
            return match self.ask(status_server, Request::Execute(first)).await? {
                Reply::Prepared(_) => Ok(()),
                _ => Err(UNEXPECTED),
            };
        }
        let transaction = self.begin(age, status_server, participants);
        // Without its status the transaction does not exist, and there is nothing to give up.
        transaction.prepare(status_server, first).await?;
        let others = steps.into_iter();
        let others = others.map(|(server, steps)| transaction.prepare(server, steps));
        let prepared = all_or_failure(join_all(others).await).map(|_| ());
        transaction.conclude(prepared).await
    }
}
