//! Per-file locks between the tasks of a client.

use alloc::{collections::BTreeMap, vec::Vec};
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};
use futago_base::FileId;

/// The locked files, and the tasks that wait for each.
#[derive(Debug)]
pub struct FileLocks(AtomicRefCell<BTreeMap<FileId, Vec<Waker>>>);

impl FileLocks {
    pub const fn new() -> Self {
        Self(AtomicRefCell::new(BTreeMap::new()))
    }

    /// Whether a task holds the lock.
    pub fn is_locked(&self, id: FileId) -> bool {
        self.0.borrow().contains_key(&id)
    }

    /// Waits for the lock. Its holder must not lock again, because the lock is not recursive.
    pub async fn take(&self, id: FileId) -> FileLockGuard<'_> {
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
        FileLockGuard {
            file_locks: self,
            id,
        }
    }
}

/// A held lock of a file; dropping it releases the lock.
#[derive(Debug)]
pub struct FileLockGuard<'a> {
    file_locks: &'a FileLocks,
    id: FileId,
}

impl Drop for FileLockGuard<'_> {
    fn drop(&mut self) {
        let waiting = self.file_locks.0.borrow_mut().remove(&self.id);
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
    fn one_task_holds_the_lock_and_waiting_tasks_are_woken() {
        let (file_locks, wakes) = (FileLocks::new(), Arc::new(Wakes::default()));
        let waker = Waker::from(Arc::clone(&wakes));
        let mut task = Context::from_waker(&waker);
        let mut take = |id| {
            let mut wait = Box::pin(file_locks.take(FileId(id)));
            let poll = wait.as_mut().poll(&mut task);
            (poll, wait)
        };
        let (Poll::Ready(first), _) = take(1) else {
            panic!("no task holds it");
        };
        let (Poll::Ready(_other), _) = take(2) else {
            panic!("files have file_locks of their own");
        };
        let (Poll::Pending, mut waits) = take(1) else {
            panic!("it is locked");
        };
        assert!(file_locks.is_locked(FileId(1)));
        drop(first);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(waits.as_mut().poll(&mut task).is_ready());
        assert!(!file_locks.is_locked(FileId(1)), "and released");
    }
}
