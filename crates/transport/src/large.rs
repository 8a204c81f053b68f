//! The order of large messages on a thread.
//!
//! A thread finds the messages of several connections at once. Receiving a large message takes
//! longer than handling it. So each message is handled and answered before the next one is
//! received, and its sender continues meanwhile. Connections queue in FIFO order.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};
use tokio::task::yield_now;

thread_local! {
    /// The number of large messages received on this thread.
    static RECEIVED: Cell<u64> = const { Cell::new(0) };
    /// The queue of waiting connections.
    static WAITING: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

/// The position of a waiting connection in the queue.
struct QueuePosition(u64);

impl QueuePosition {
    /// The last position.
    fn last() -> Self {
        WAITING.with_borrow_mut(|waiting| {
            let position = waiting.last().map_or(0, |last| last.wrapping_add(1));
            waiting.insert(position);
            Self(position)
        })
    }

    fn is_first(&self) -> bool {
        WAITING.with_borrow(|waiting| waiting.first() == Some(&self.0))
    }
}

impl Drop for QueuePosition {
    fn drop(&mut self) {
        // The queue is already gone if the thread itself ends.
        let _ = WAITING.try_with(|waiting| waiting.borrow_mut().remove(&self.0));
    }
}

/// A large message is complete, and the tasks that handle it must run next.
pub fn received() {
    RECEIVED.set(RECEIVED.get().wrapping_add(1));
}

/// Waits until this connection is first in the queue and the messages of other connections have
/// been handled.
pub async fn wait_in_queue() {
    let position = QueuePosition::last();
    loop {
        let before = RECEIVED.get();
        yield_now().await;
        if RECEIVED.get() == before && position.is_first() {
            return;
        }
    }
}
