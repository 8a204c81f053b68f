use std::sync::PoisonError;

use super::Padded;
use super::primitives::{AtomicBool, Mutex, Ordering};

/// A mailbox for every pair of a sending and a receiving partition.
///
/// Mail from one sender arrives in sending order, because an anti-message must arrive after its
/// message. Senders pass whole batches, so a lock is taken once per batch, and by at most two
/// threads.
#[derive(Debug)]
pub(crate) struct MailGrid<T> {
    receivers: usize,
    boxes: Vec<Padded<MailBox<T>>>,
}

#[derive(Debug)]
struct MailBox<T> {
    /// Lets a receiver skip an empty box without the lock.
    full: AtomicBool,
    mail: Mutex<Vec<T>>,
}

impl<T> MailGrid<T> {
    pub fn new(senders: usize, receivers: usize) -> MailGrid<T> {
        let boxes = (0..senders * receivers)
            .map(|_| {
                Padded(MailBox {
                    full: AtomicBool::new(false),
                    mail: Mutex::new(Vec::new()),
                })
            })
            .collect();
        MailGrid { receivers, boxes }
    }

    fn between(&self, from: usize, to: usize) -> &MailBox<T> {
        &self.boxes[from * self.receivers + to].0
    }

    /// Sends a batch, which is empty afterwards.
    pub fn send(&self, from: usize, to: usize, batch: &mut Vec<T>) {
        if batch.is_empty() {
            return;
        }
        let mailbox = self.between(from, to);
        let mut mail = mailbox.mail.lock().unwrap_or_else(PoisonError::into_inner);
        if mail.is_empty() {
            std::mem::swap(&mut *mail, batch);
        } else {
            mail.append(batch);
        }
        mailbox.full.store(true, Ordering::Release);
    }

    /// Swaps the box's content with `batch`, which must be empty.
    pub fn take(&self, from: usize, to: usize, batch: &mut Vec<T>) {
        debug_assert!(batch.is_empty());
        let mailbox = self.between(from, to);
        if !mailbox.full.load(Ordering::Acquire) {
            return;
        }
        let mut mail = mailbox.mail.lock().unwrap_or_else(PoisonError::into_inner);
        mailbox.full.store(false, Ordering::Release);
        std::mem::swap(&mut *mail, batch);
    }
}

#[cfg(all(test, loom))]
mod every_interleaving {
    use loom::sync::Arc;

    use super::*;

    #[test]
    fn mail_arrives_once_and_in_order() {
        loom::model(|| {
            let grid = Arc::new(MailGrid::new(1, 1));
            let sender = Arc::clone(&grid);
            let thread = loom::thread::spawn(move || {
                sender.send(0, 0, &mut vec![1, 2]);
                sender.send(0, 0, &mut vec![3]);
            });
            let mut received = Vec::new();
            let mut take = || {
                let mut batch = Vec::new();
                grid.take(0, 0, &mut batch);
                received.append(&mut batch);
            };
            take();
            take();
            thread.join().unwrap();
            take();
            assert_eq!(received, [1, 2, 3]);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_apart() {
        let grid = MailGrid::new(2, 2);
        grid.send(0, 1, &mut vec!['a']);
        grid.send(1, 0, &mut vec!['b']);
        let mut batch = Vec::new();
        grid.take(0, 0, &mut batch);
        assert!(batch.is_empty());
        grid.take(0, 1, &mut batch);
        assert_eq!(batch, ['a']);
    }
}
