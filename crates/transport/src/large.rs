//! The order of large messages on a thread.
//!
//! A thread finds the messages of several connections at once. To take in a large one takes longer than to handle it, so each is handled, and
//! answered, before the next one is taken in: its sender goes on meanwhile. Connections take turns.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};
use tokio::task::yield_now;

thread_local! {
    /// How many large messages have been taken in on this thread.
    static TAKEN_IN: Cell<u64> = const { Cell::new(0) };
    /// Those who wait for their turn, in its order.
    static WAITING: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

/// The place of somebody who waits for a turn.
struct Place(u64);

impl Place {
    /// Behind all others.
    fn last() -> Self {
        WAITING.with_borrow_mut(|waiting| {
            let place = waiting.last().map_or(0, |last| last.wrapping_add(1));
            waiting.insert(place);
            Self(place)
        })
    }

    fn is_first(&self) -> bool {
        WAITING.with_borrow(|waiting| waiting.first() == Some(&self.0))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Where the thread itself ends, the places are gone already.
        let _ = WAITING.try_with(|waiting| waiting.borrow_mut().remove(&self.0));
    }
}

/// A large message is complete; the tasks that have it handled are to run.
pub fn taken_in() {
    TAKEN_IN.set(TAKEN_IN.get().wrapping_add(1));
}

/// Waits for the turn to take in a large message: until what other connections have taken in has been handled.
pub async fn turn() {
    let place = Place::last();
    loop {
        let before = TAKEN_IN.get();
        yield_now().await;
        if TAKEN_IN.get() == before && place.is_first() {
            return;
        }
    }
}
