//! Requests that could not be answered at once, and their waiting times.

use futago_base::{Duration, RequestId, SessionId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most waiting requests that a server reports.
const REPORTED_MAX: usize = 16;

/// A request that waits for other clients or servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// Its operation.
    pub operation: String,
    /// The session of the requesting client.
    pub session: u64,
    /// Its waiting time so far, in microseconds.
    pub age_us: u64,
}

/// The waiting requests of one server.
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

    /// The session's replies are no longer needed.
    pub fn forget(&mut self, session: SessionId) {
        self.since.retain(|request, _| request.session != session);
    }

    /// The requests that have waited longest.
    pub fn oldest(&self, now: Time) -> Vec<WaitingRequest> {
        let mut requests: Vec<_> = self.since.iter().collect();
        requests.sort_by_key(|(_, (_, since))| *since);
        let reported = requests.into_iter().take(REPORTED_MAX);
        reported
            .map(|(request, (operation, since))| WaitingRequest {
                operation: (*operation).to_owned(),
                session: request.session.0,
                age_us: now.0.saturating_sub(since.0) / 1000,
            })
            .collect()
    }

    /// The total waiting time of requests, by operation, in microseconds.
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
        // A retry has waited since the first attempt.
        waiting.begin(request(2), "write", Time(9_000));
        let reported = waiting.oldest(Time(11_000));
        let reported: Vec<_> = reported
            .iter()
            .map(|reported| (reported.operation.as_str(), reported.age_us))
            .collect();
        assert_eq!(reported, [("write", 10), ("set_lock", 6)]);
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
