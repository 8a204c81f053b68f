//! Byte-range locks of all files, with the waiting requests.

use futago_fuse_kernel::{Lock, LockRequest, Reply};
use std::collections::HashMap;
use std::sync::{Condvar, Mutex};

const UNLOCK: u32 = libc::F_UNLCK as u32;
const WRITE: u32 = libc::F_WRLCK as u32;

#[derive(Default)]
pub struct Locks {
    table: Mutex<Table>,
    changed: Condvar,
}

#[derive(Default)]
struct Table {
    held: HashMap<u64, Vec<LockRequest>>,
    waiting: Vec<(u64, LockRequest, Reply)>,
}

impl Locks {
    pub fn get(&self, node: u64, request: &LockRequest, reply: Reply) {
        let table = self.table.lock().expect("lock");
        let none = Lock {
            kind: UNLOCK,
            ..request.lock
        };
        reply.lock(&table.conflict(node, request).unwrap_or(none));
    }

    pub fn set(&self, node: u64, request: LockRequest, wait: bool, reply: Reply) {
        let mut table = self.table.lock().expect("lock");
        if table.conflict(node, &request).is_none() {
            table.change(node, &request);
            reply.ok();
            table.wake();
        } else if !wait {
            reply.error(libc::EAGAIN);
        } else if reply.is_interrupted() {
            reply.error(libc::EINTR);
        } else {
            table.waiting.push((node, request, reply));
            self.changed.notify_all();
        }
    }

    pub fn interrupt(&self, unique: u64) {
        let mut table = self.table.lock().expect("lock");
        let is_meant = |(_, _, reply): &mut (u64, LockRequest, Reply)| reply.unique() == unique;
        for (_, _, reply) in table.waiting.extract_if(.., is_meant) {
            reply.error(libc::EINTR);
        }
    }

    /// A process closed a descriptor of the file: its `fcntl` locks are released.
    pub fn drop_owner(&self, node: u64, owner: u64) {
        self.drop_if(node, |held| held.owner == owner);
    }

    /// An open file is closed: its `flock` and OFD locks are released.
    pub fn drop_handle(&self, node: u64, handle: u64) {
        self.drop_if(node, |held| held.handle == handle);
    }

    fn drop_if(&self, node: u64, is_dropped: impl Fn(&LockRequest) -> bool) {
        let mut table = self.table.lock().expect("lock");
        table
            .held
            .entry(node)
            .or_default()
            .retain(|held| !is_dropped(held));
        table.wake();
    }

    /// Returns once a request waits for a lock.
    #[allow(dead_code)] // For tests.
    pub fn await_waiter(&self) {
        let table = self.table.lock().expect("lock");
        drop(
            self.changed
                .wait_while(table, |table| table.waiting.is_empty())
                .expect("lock"),
        );
    }
}

impl Table {
    fn conflict(&self, node: u64, request: &LockRequest) -> Option<Lock> {
        let wanted = request.lock;
        let in_the_way = |held: &&LockRequest| {
            let is_exclusive = held.lock.kind == WRITE || wanted.kind == WRITE;
            held.owner != request.owner && is_exclusive && overlaps(&held.lock, &wanted)
        };
        let held = self.held.get(&node).filter(|_| wanted.kind != UNLOCK)?;
        held.iter().find(in_the_way).map(|held| held.lock)
    }

    /// Replaces the owner's locks in the range.
    fn change(&mut self, node: u64, request: &LockRequest) {
        let LockRequest { owner, lock, .. } = *request;
        let held = self.held.entry(node).or_default();
        let is_cut = |old: &mut LockRequest| old.owner == owner && overlaps(&old.lock, &lock);
        let cut: Vec<_> = held.extract_if(.., is_cut).collect();
        for old in cut {
            if old.lock.start < lock.start {
                let before = Lock {
                    end: lock.start - 1,
                    ..old.lock
                };
                held.push(LockRequest {
                    lock: before,
                    ..old
                });
            }
            if old.lock.end > lock.end {
                let after = Lock {
                    start: lock.end + 1,
                    ..old.lock
                };
                held.push(LockRequest { lock: after, ..old });
            }
        }
        if lock.kind != UNLOCK {
            held.push(*request);
        }
    }

    fn wake(&mut self) {
        for (node, request, reply) in std::mem::take(&mut self.waiting) {
            if self.conflict(node, &request).is_some() {
                self.waiting.push((node, request, reply));
            } else {
                self.change(node, &request);
                reply.ok();
            }
        }
    }
}

fn overlaps(one: &Lock, other: &Lock) -> bool {
    one.start <= other.end && other.start <= one.end
}
