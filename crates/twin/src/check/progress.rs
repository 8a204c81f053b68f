//! The work that is still under way at servers. There must be none a while after the last fault.

use futago_base::{ClusterMap, Key, ServerId, SessionId, Value, record::Restoration};
use futago_store::MemoryStore;
use std::collections::BTreeSet;

/// The work that has not come to an end at the servers, one line each. Of the sessions of clients
/// that are `gone`, nothing may be held any more.
pub fn unfinished(
    map: &ClusterMap,
    stores: &[&MemoryStore],
    gone: &BTreeSet<SessionId>,
) -> Vec<String> {
    let of_server = |(server, store): (ServerId, &&MemoryStore)| {
        let records = store.records();
        let lines = records.filter_map(|(key, value)| {
            let what = under_way(key, value).or_else(|| held_by(key, value, gone))?;
            Some(format!("{what} at {server}: {key:?} = {value:?}"))
        });
        lines.collect::<Vec<_>>()
    };
    map.servers().zip(stores).flat_map(of_server).collect()
}

/// The work that a record exists for, if it exists only while something is under way.
const fn under_way(key: &Key, value: &Value) -> Option<&'static str> {
    match key {
        Key::Locator(_) | Key::Participant(_) | Key::TransactionStatus(_) => Some("a transaction"),
        Key::Outbox(..) => Some("a message to another server"),
        Key::OutboxWaiter(..) | Key::HeldReply(_) => Some("a reply to a client"),
        Key::Parked(..) | Key::AwaitsRecall(..) | Key::Waiting(_) => Some("a waiting request"),
        Key::LockWaiters(_) => Some("a wait for a lock"),
        Key::Restoration(_) => match value {
            Value::Restoration(Restoration::Failed(_)) => None,
            _ => Some("a restoration"),
        },
        _ => None,
    }
}

/// The things that a client that is gone still holds by a record.
fn held_by(key: &Key, value: &Value, gone: &BTreeSet<SessionId>) -> Option<&'static str> {
    match (key, value) {
        (Key::SessionLease(session, _) | Key::Lease(_, session), _) if gone.contains(session) => {
            Some("a lease of a client that is gone")
        }
        (Key::SessionFile(session, _), _) if gone.contains(session) => {
            Some("an open or locked file of a client that is gone")
        }
        (Key::Locks(_), Value::Locks(locks)) => {
            let is_of_gone = |session| gone.contains(session);
            let mut owners = locks.iter().map(|lock| &lock.owner.session);
            owners
                .any(is_of_gone)
                .then_some("a lock of a client that is gone")
        }
        _ => None,
    }
}
