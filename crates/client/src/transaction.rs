//! Changes of several records: on one server in one message, on several as a transaction in the
//! manner of dynamic software transactional memory (Herlihy et al., PODC 2003).

use crate::{
    Client, Context,
    client::{UNEXPECTED, all_or_failure},
    join_all,
};
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{Errno, FileId, ServerId, Time, TransactionId, record::TransactionState};
use futago_wire::{Failure, Reply, Request, Step, step::Fact};

type Steps = BTreeMap<ServerId, Vec<Step>>;

/// The steps of an operation and the facts that it rests on, for each server.
///
/// A client reads facts at different moments, so they may never have held together. The server
/// applies a change only if all its facts still hold. The same check confirms an outcome that
/// follows from facts alone.
#[derive(Debug, Default)]
pub struct Plan {
    steps: Steps,
    seen: Steps,
    concluded: Option<Result<(), Errno>>,
}

impl Plan {
    /// Adds a step of the change.
    pub fn add(&mut self, server: ServerId, step: Step) {
        self.steps.entry(server).or_default().push(step);
    }

    /// Adds a fact. The steps of a change check their own facts.
    pub fn saw(&mut self, server: ServerId, fact: Fact) {
        self.confirm(server, Step::Expect(fact));
    }

    /// Adds a step that confirms a fact.
    pub fn confirm(&mut self, server: ServerId, step: Step) {
        self.seen.entry(server).or_default().push(step);
    }

    /// Concludes an outcome from the facts: there is no change.
    pub fn conclude(&mut self, outcome: Result<(), Errno>) {
        self.concluded.get_or_insert(outcome);
    }
}

/// A transaction that is being prepared.
pub struct Transaction<'client, C> {
    client: &'client Client<C>,
    id: TransactionId,
    /// The time of the first attempt at the operation: older transactions win.
    age: Time,
    status_server: ServerId,
    participants: Vec<ServerId>,
}

impl<C: Context> Transaction<'_, C> {
    /// Reserves the records of some steps on one server. The status server must be the first.
    /// Returns the id of the directory that the steps make, if any.
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
        self.client.end_leases(&request.touched().ended).await;
        match self.client.ask(server, request).await? {
            Reply::Prepared(id) => Ok(id),
            _ => Err(UNEXPECTED),
        }
    }

    /// Ends the transaction: commits it if all servers are prepared, and aborts it otherwise with
    /// the failure.
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
    /// A transaction without prepared servers; the status server is one of the participants.
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

    /// Executes all steps of a plan or none, or confirms its conclusion.
    pub(crate) async fn execute(&self, plan: Plan, age: Time) -> Result<(), Failure> {
        let (steps, outcome) = match plan.concluded {
            Some(outcome) => (plan.seen, outcome),
            None => (plan.steps, Ok(())),
        };
        match self.execute_steps(steps, age).await {
            // The directory was empty when the plan was made.
            Err(Failure::Errno(Errno::ENOTEMPTY)) => Err(Failure::Changed),
            done => done.and(outcome.map_err(Failure::from)),
        }
    }

    async fn execute_steps(&self, mut steps: Steps, age: Time) -> Result<(), Failure> {
        let participants: Vec<ServerId> = steps.keys().copied().collect();
        let Some((status_server, first)) = steps.pop_first() else {
            return Ok(());
        };
        if steps.is_empty() {
            return match self.ask(status_server, Request::Execute(first)).await? {
                Reply::Executed(_) => Ok(()),
                _ => Err(UNEXPECTED),
            };
        }
        let transaction = self.begin(age, status_server, participants);
        // Without its status the transaction does not exist, so there is nothing to abort.
        transaction.prepare(status_server, first).await?;
        let others = steps.into_iter();
        let others = others.map(|(server, steps)| transaction.prepare(server, steps));
        let prepared = all_or_failure(join_all(others).await).map(|_| ());
        transaction.conclude(prepared).await
    }
}
