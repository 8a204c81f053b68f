//! Advisory locks.

use super::apply::{Errors, Expected, existing};
use super::{Call, File, LockRequest, Locker, Node, Operation, Tree};
use futago_base::Errno;

pub(super) fn run(tree: &mut Tree, call: &Call<'_>) -> Result<Expected, Errors> {
    let (id, lock, set) = match call.operation {
        Operation::TestLock { id, lock } => (*id, lock, None),
        Operation::SetLock { id, lock, wait } => (*id, lock, Some(*wait)),
        _ => return Err(vec![Errno::ENOSYS]),
    };
    let at = existing(tree, id)?;
    let file = tree.node_mut(at).and_then(Node::file_mut);
    let file = file.ok_or_else(|| vec![Errno::EISDIR])?;
    let locker = (lock.space_number(), call.client, lock.owner);
    let blocked = is_blocked(file, lock, locker);
    match set {
        None => Ok(Expected::Lock(blocked)),
        Some(false) if blocked => Err(vec![Errno::EAGAIN]),
        Some(true) if blocked => Err(vec![Errno::EDEADLK]),
        Some(_) => {
            take(file, lock, locker);
            Ok(Expected::Done)
        }
    }
}

fn is_blocked(file: &File, lock: &LockRequest, locker: Locker) -> bool {
    let others = file
        .locks
        .iter()
        .filter(|&(other, _)| other.0 == locker.0 && *other != locker);
    let mut runs = others.flat_map(|(_, held)| held.within(lock.from, lock.to).runs().to_vec());
    runs.any(|run| lock.tag() != 0 && (lock.tag() == 2 || run.tag == 2))
}

fn take(file: &mut File, lock: &LockRequest, locker: Locker) {
    let held = file.locks.entry(locker).or_default();
    held.write(lock.from, lock.to, lock.tag());
    if held.is_empty() {
        file.locks.remove(&locker);
    }
}
