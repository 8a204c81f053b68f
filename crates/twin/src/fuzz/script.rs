//! The operations of a client in a burst.

use super::{Known, Step, perform};
use crate::check::{History, Marks, Record};
use crate::cluster::SimulatedContext;
use crate::model::{Observed, Operation, Outcome};
use futago_base::Duration;
use futago_client::{Client, Context};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The steps that are left for a client, and where it writes down what comes of them. When the
/// client loses its session, another one may go on with the script.
pub(super) struct Script {
    steps: RefCell<VecDeque<Step>>,
    idle: Duration,
    known: RefCell<Known>,
    history: Rc<RefCell<History>>,
    /// The values by which bytes of files are known, if they matter.
    marks: Option<Rc<RefCell<Marks>>>,
    done: Cell<bool>,
}

impl Script {
    /// A script of some steps, with a pause of at most `idle` before each.
    pub fn new(
        steps: &[Step],
        idle: Duration,
        known: Known,
        history: Rc<RefCell<History>>,
        marks: Option<Rc<RefCell<Marks>>>,
    ) -> Rc<Self> {
        Rc::new(Self {
            steps: RefCell::new(steps.iter().cloned().collect()),
            idle,
            known: RefCell::new(known),
            history,
            marks,
            done: Cell::new(false),
        })
    }

    /// Whether nothing is left.
    pub const fn is_done(&self) -> bool {
        self.done.get()
    }

    /// Does the script step by step and writes down what comes of it.
    pub async fn follow(self: Rc<Self>, core: Rc<Client<SimulatedContext>>, client: usize) {
        while let Some(step) = self.next() {
            if self.idle > Duration(0) {
                core.context().sleep(step.idle(self.idle)).await;
            }
            let operation = step.operation(&self.known.borrow());
            let Some(operation) = operation.and_then(|operation| self.mark(operation)) else {
                continue;
            };
            let opened = step.opened(&operation);
            let open = opened.map(Operation::Open);
            let close = opened.map(Operation::Close);
            for operation in open.into_iter().chain([operation]).chain(close) {
                let observed = self.observe(&core, client, &operation).await;
                self.learn(&operation, &observed);
                if observed.is_err() && matches!(operation, Operation::Open(_)) {
                    break;
                }
            }
        }
        self.done.set(true);
    }

    fn next(&self) -> Option<Step> {
        self.steps.borrow_mut().pop_front()
    }

    fn mark(&self, operation: Operation) -> Option<Operation> {
        match &self.marks {
            Some(marks) => marks.borrow_mut().mark(operation),
            None => Some(operation),
        }
    }

    fn learn(&self, operation: &Operation, observed: &Observed) {
        let Ok(Outcome::File(state, created)) = observed else {
            return;
        };
        let attributes = &state.attributes;
        self.known
            .borrow_mut()
            .learn(attributes.id, attributes.kind);
        if let (Some(marks), true) = (&self.marks, *created) {
            marks.borrow_mut().made(operation, attributes.id);
        }
    }

    /// Does an operation and writes down what comes of it.
    async fn observe(
        &self,
        core: &Client<SimulatedContext>,
        client: usize,
        operation: &Operation,
    ) -> Observed {
        let index = self.history.borrow().len();
        self.history.borrow_mut().push(Record {
            client,
            operation: operation.clone(),
            called: core.context().true_time(),
            returned: None,
        });
        let observed = perform(core, operation).await;
        let returned = (core.context().true_time(), observed.clone());
        self.history.borrow_mut()[index].returned = Some(returned);
        // Time passes between operations, so that one after the other is seen as such.
        core.context().sleep(Duration(1)).await;
        observed
    }
}
