//! Holders of locks with a release under way. A system may name a holder again before the release
//! has arrived: a lock that it takes meanwhile could be released as well.

use crate::LockHolder;
use alloc::vec::Vec;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// The holders with releases under way, each as often as it has any.
#[derive(Debug, Default)]
pub(crate) struct Unsettled(AtomicRefCell<State>);

#[derive(Debug, Default)]
struct State {
    holders: Vec<LockHolder>,
    /// The tasks that wait for the end of a release.
    waiting: Vec<Waker>,
}

impl Unsettled {
    /// A release begins.
    pub(crate) fn begin(&self, holder: LockHolder) {
        self.0.borrow_mut().holders.push(holder);
    }

    /// A release has ended.
    pub(crate) fn end(&self, holder: LockHolder) {
        let state = &mut *self.0.borrow_mut();
        if let Some(index) = state.holders.iter().position(|of| *of == holder) {
            state.holders.swap_remove(index);
        }
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Whether a holder has no release under way.
    pub(crate) fn is_settled(&self, holder: LockHolder) -> bool {
        !self.0.borrow().holders.contains(&holder)
    }

    /// Waits until a holder has no release under way.
    pub(crate) async fn settled(&self, holder: LockHolder) {
        poll_fn(|task| {
            if self.is_settled(holder) {
                return Poll::Ready(());
            }
            self.0.borrow_mut().waiting.push(task.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::{future::Future, pin::pin, task::Context};
    use futago_base::FileId;

    #[test]
    fn a_holder_is_settled_when_all_its_releases_have_ended() {
        let unsettled = Unsettled::default();
        let holder = |owner| LockHolder::of_ranges(FileId(9), owner);
        unsettled.begin(holder(1));
        unsettled.begin(holder(1));
        let mut task = Context::from_waker(Waker::noop());
        let mut settled = pin!(unsettled.settled(holder(1)));
        unsettled.end(holder(1));
        assert!(settled.as_mut().poll(&mut task).is_pending());
        assert!(unsettled.is_settled(holder(2)));
        unsettled.end(holder(1));
        assert!(settled.poll(&mut task).is_ready());
    }
}
