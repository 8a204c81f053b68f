//! Leases that servers recall.

use super::leaves::Recalled;
use super::operation::Operation;
use super::task::{Incoming, Task};
use super::{ClientProcess, ClientUndo, Slot};
use crate::world::host::Moment;
use crate::world::message::Message;

impl ClientProcess {
    /// A server recalls leases. They are returned beside the operation, if one is under way.
    pub(super) fn receive_recall(
        &mut self,
        message: &Message,
        recalled: Recalled,
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        at.ns = at.ns.max(self.state.free_ns);
        self.take_in(message, 0, at);
        self.state.free_ns = at.ns;
        if self.task.is_none() {
            self.task = Some(Task::new(Operation::ReturnLeases, at.ns, at.random.bits()));
        }
        let incoming = Incoming::Recalled(Box::new(recalled));
        self.step(Slot::Main, Some(incoming), at, undo.as_deref_mut());
        self.go_on(at, undo);
    }

    /// Whether it does nothing but return leases. The next operation waits for the end of that.
    fn returns_leases(&self) -> bool {
        let task = self.task.as_ref();
        task.is_some_and(|task| task.operation == Operation::ReturnLeases)
    }

    /// When the next operation may begin, if one is due or comes.
    pub(super) fn next_operation_ns(&self) -> Option<u64> {
        self.state.next_ns.filter(|_| !self.returns_leases())
    }
}
