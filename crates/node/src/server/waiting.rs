//! Requests that could not be answered at once, and for how long.

use futago_base::{Duration, RequestId, SessionId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of the requests that wait a server tells of.
const TOLD_MAX: usize = 16;

/// A request that waits for other clients or servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// What it asks for.
    pub operation: String,
    /// The session of the client that asks.
    pub session: u64,
    /// For how long it has been waiting, in microseconds.
    pub age_us: u64,
}

/// The requests of one server that wait.
#[derive(Debug, Default)]
pub struct Waiting {
    since: BTreeMap<RequestId, (&'static str, Time)>,
    waited: BTreeMap<&'static str, Duration>,
}

impl Waiting {
    /// A request was not answered when its server had decided on it.
    pub fn begin(&mut self, request: RequestId, operation: &'static str, now: Time) {
        self.since.entry(request).or_insert((operation, now));
    }

    /// A request is answered.
    pub fn end(&mut self, request: RequestId, now: Time) {
        if let Some((operation, since)) = self.since.remove(&request) {
            let waited = self.waited.entry(operation).or_insert(Duration(0));
            waited.0 += now.0.saturating_sub(since.0);
        }
    }

    /// Nobody waits for the answers of a session any more.
    pub fn forget(&mut self, session: SessionId) {
        self.since.retain(|request, _| request.session != session);
    }

    /// The oldest requests that wait.
    pub fn oldest(&self, now: Time) -> Vec<WaitingRequest> {
        let mut requests: Vec<_> = self.since.iter().collect();
        requests.sort_by_key(|(_, (_, since))| *since);
        let told = requests.into_iter().take(TOLD_MAX);
        told.map(|(request, (operation, since))| WaitingRequest {
            operation: (*operation).to_owned(),
            session: request.session.0,
            age_us: now.0.saturating_sub(since.0) / 1000,
        })
        .collect()
    }

    /// How long requests have waited in all, by operation, in microseconds.
    pub fn waited_us(&self) -> BTreeMap<String, u64> {
        let waited = self.waited.iter();
        waited
            .map(|(&operation, time)| (operation.to_owned(), time.0 / 1000))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_first_and_their_time_is_added_up() {
        let request = |session| RequestId {
            session: SessionId(session),
            sequence: 1,
        };
        let mut waiting = Waiting::default();
        waiting.begin(request(1), "set_lock", Time(5_000));
        waiting.begin(request(2), "write", Time(1_000));
        // It asks again, and has waited since the first time.
        waiting.begin(request(2), "write", Time(9_000));
        let told = waiting.oldest(Time(11_000));
        let told: Vec<_> = told
            .iter()
            .map(|told| (told.operation.as_str(), told.age_us))
            .collect();
        assert_eq!(told, [("write", 10), ("set_lock", 6)]);
        waiting.end(request(2), Time(21_000));
        waiting.end(request(3), Time(21_000));
        assert_eq!(waiting.oldest(Time(21_000)).len(), 1);
        waiting.forget(SessionId(1));
        assert_eq!(waiting.oldest(Time(21_000)), []);
        assert_eq!(
            waiting.waited_us(),
            BTreeMap::from([("write".to_owned(), 20)])
        );
    }
}
