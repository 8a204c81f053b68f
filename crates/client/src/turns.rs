//! Turns: one task at a time does something with a file.

use alloc::{collections::BTreeMap, vec::Vec};
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};
use futago_base::FileId;

/// The files that somebody has the turn of, and who waits for it.
#[derive(Debug)]
pub struct Turns(AtomicRefCell<BTreeMap<FileId, Vec<Waker>>>);

impl Turns {
    pub const fn new() -> Self {
        Self(AtomicRefCell::new(BTreeMap::new()))
    }

    /// Whether somebody has the turn.
    pub fn is_taken(&self, id: FileId) -> bool {
        self.0.borrow().contains_key(&id)
    }

    /// Waits for the turn. Who has it must not wait for it again.
    pub async fn take(&self, id: FileId) -> Turn<'_> {
        poll_fn(|task| {
            let mut taken = self.0.borrow_mut();
            if let Some(waiting) = taken.get_mut(&id) {
                waiting.push(task.waker().clone());
                return Poll::Pending;
            }
            taken.insert(id, Vec::new());
            Poll::Ready(())
        })
        .await;
        Turn { turns: self, id }
    }
}

/// The turn of a file; it is over when this is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    turns: &'a Turns,
    id: FileId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let waiting = self.turns.0.borrow_mut().remove(&self.id);
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{boxed::Box, sync::Arc, task::Wake};
    use core::{
        future::Future,
        sync::atomic::{AtomicU32, Ordering},
        task::Context,
    };

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_turn_is_one_tasks_and_the_next_one_is_woken() {
        let (turns, wakes) = (Turns::new(), Arc::new(Wakes::default()));
        let waker = Waker::from(Arc::clone(&wakes));
        let mut task = Context::from_waker(&waker);
        let mut take = |id| {
            let mut wait = Box::pin(turns.take(FileId(id)));
            let poll = wait.as_mut().poll(&mut task);
            (poll, wait)
        };
        let (Poll::Ready(first), _) = take(1) else {
            panic!("nobody has it");
        };
        let (Poll::Ready(_other), _) = take(2) else {
            panic!("files have turns of their own");
        };
        let (Poll::Pending, mut waits) = take(1) else {
            panic!("it is taken");
        };
        assert!(turns.is_taken(FileId(1)));
        drop(first);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(waits.as_mut().poll(&mut task).is_ready());
        assert!(!turns.is_taken(FileId(1)), "and given back");
    }
}
