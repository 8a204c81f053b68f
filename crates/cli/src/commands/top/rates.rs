//! Rates from two samples of the counters of all servers.

use crate::{connection::Connection, output};
use futago_base::ServerId;
use futago_node::server::{Status, WaitingRequest};
use serde::Serialize;
use std::{collections::BTreeMap, time::Instant};

/// The counters of all servers at one time.
pub struct Sample {
    at: Instant,
    servers: Vec<(ServerId, Option<Status>)>,
}

impl Sample {
    /// Asks all servers.
    pub fn take(connection: &Connection) -> Self {
        let answers = connection.statuses();
        Self {
            servers: answers
                .into_iter()
                .map(|(id, answer)| (id, answer.ok()))
                .collect(),
            at: Instant::now(),
        }
    }
}

/// Rates of servers and operations, and the requests that wait.
#[derive(Serialize)]
pub struct Rates {
    servers: Vec<ServerRates>,
    operations: Vec<OperationRate>,
    waiting: Vec<WaitingAt>,
}

#[derive(Serialize)]
struct ServerRates {
    server: u16,
    /// `None` if the server did not answer both times.
    #[serde(flatten)]
    rates: Option<KnownRates>,
}

#[derive(Serialize)]
struct KnownRates {
    requests_per_s: f64,
    received_bytes_per_s: f64,
    sent_bytes_per_s: f64,
    /// Share of the time in which the server worked, in per cent.
    busy_percent: f64,
    /// Time of work for a request, in microseconds.
    busy_us_per_request: f64,
    /// Requests that the server refused because too many were under way.
    refused_per_s: f64,
    /// Requests that are being served.
    under_way: u64,
    clients: u64,
    used_bytes: u64,
    limit_bytes: u64,
}

#[derive(Serialize)]
struct OperationRate {
    operation: String,
    per_s: f64,
    /// Mean time that a request waited for other clients and servers, in microseconds.
    waited_us: f64,
}

#[derive(Serialize)]
struct WaitingAt {
    server: u16,
    #[serde(flatten)]
    request: WaitingRequest,
}

/// Rows under titles, for people.
pub struct Table {
    pub titles: &'static [&'static str],
    /// The first of the columns of numbers.
    numbers_from: usize,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether a column is aligned to the right.
    pub const fn is_right(&self, column: usize) -> bool {
        column >= self.numbers_from
    }
}

impl Rates {
    /// Computes the rates between two samples.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let seconds = after.at.duration_since(before.at).as_secs_f64().max(1e-6);
        let pairs = before.servers.iter().zip(&after.servers);
        let known: Vec<_> = pairs
            .map(|((id, before), (_, after))| (*id, before.as_ref().zip(after.as_ref())))
            .collect();
        Self {
            servers: known
                .iter()
                .map(|(id, pair)| ServerRates {
                    server: id.0,
                    rates: pair.map(|(before, after)| KnownRates::between(before, after, seconds)),
                })
                .collect(),
            operations: operations(known.iter().filter_map(|(_, pair)| *pair), seconds),
            waiting: waiting(known.iter().filter_map(|(_, pair)| *pair)),
        }
    }

    /// Three tables for people: servers, operations, waiting requests.
    pub fn tables(&self) -> [Table; 3] {
        [
            self.server_table(),
            self.operation_table(),
            self.waiting_table(),
        ]
    }

    fn server_table(&self) -> Table {
        Table {
            titles: &[
                "server",
                "requests/s",
                "in/s",
                "out/s",
                "busy",
                "us each",
                "refused/s",
                "under way",
                "clients",
                "used",
                "of",
            ],
            numbers_from: 0,
            rows: self.servers.iter().map(ServerRates::cells).collect(),
        }
    }

    fn operation_table(&self) -> Table {
        let cells = |of: &OperationRate| {
            vec![
                of.operation.clone(),
                format!("{:.0}", of.per_s),
                format!("{:.0}", of.waited_us),
            ]
        };
        Table {
            titles: &["operation", "each second", "waited us each"],
            numbers_from: 1,
            rows: self.operations.iter().map(cells).collect(),
        }
    }

    fn waiting_table(&self) -> Table {
        let cells = |at: &WaitingAt| {
            let seconds = at.request.age_us as f64 / 1e6;
            let session = format!("{:016x}", at.request.session);
            vec![
                at.request.operation.clone(),
                session,
                at.server.to_string(),
                format!("{seconds:.3}"),
            ]
        };
        Table {
            titles: &["waiting", "of session", "at server", "for s"],
            numbers_from: 2,
            rows: self.waiting.iter().map(cells).collect(),
        }
    }
}

impl ServerRates {
    fn cells(&self) -> Vec<String> {
        let Some(of) = &self.rates else {
            return vec![self.server.to_string(), "no answer".to_owned()];
        };
        let bytes = |bytes: f64| output::size(bytes as u64);
        vec![
            self.server.to_string(),
            format!("{:.0}", of.requests_per_s),
            bytes(of.received_bytes_per_s),
            bytes(of.sent_bytes_per_s),
            format!("{:.0}%", of.busy_percent),
            format!("{:.1}", of.busy_us_per_request),
            format!("{:.0}", of.refused_per_s),
            of.under_way.to_string(),
            of.clients.to_string(),
            output::size(of.used_bytes),
            output::size(of.limit_bytes),
        ]
    }
}

impl KnownRates {
    /// A restarted server counts from zero again: its rates are zero at first.
    fn between(before: &Status, after: &Status, seconds: f64) -> Self {
        let per_s = |of: fn(&Status) -> u64| of(after).saturating_sub(of(before)) as f64 / seconds;
        let requests_per_s = per_s(|status| status.requests.values().sum());
        let busy_us_per_s = per_s(|status| status.busy_us);
        Self {
            requests_per_s,
            received_bytes_per_s: per_s(|status| status.received_bytes),
            sent_bytes_per_s: per_s(|status| status.sent_bytes),
            busy_percent: busy_us_per_s / 1e4,
            busy_us_per_request: busy_us_per_s / requests_per_s.max(1.0 / seconds),
            refused_per_s: per_s(|status| status.busy),
            under_way: after.under_way,
            clients: after.sessions,
            used_bytes: after.used_bytes,
            limit_bytes: after.limit_bytes,
        }
    }
}

/// The operations of all servers, the most frequent ones first.
fn operations<'a>(
    pairs: impl Iterator<Item = (&'a Status, &'a Status)>,
    seconds: f64,
) -> Vec<OperationRate> {
    let mut totals: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (before, after) in pairs {
        for (operation, count) in &after.requests {
            let more = |of: &BTreeMap<String, u64>| of.get(operation).copied().unwrap_or(0);
            let total = totals.entry(operation).or_default();
            total.0 += count.saturating_sub(more(&before.requests));
            total.1 += more(&after.waited_us).saturating_sub(more(&before.waited_us));
        }
    }
    let happened = totals.into_iter().filter(|(_, (count, _))| *count > 0);
    let mut rates: Vec<_> = happened
        .map(|(operation, (count, waited_us))| OperationRate {
            operation: operation.to_owned(),
            per_s: count as f64 / seconds,
            waited_us: waited_us as f64 / count as f64,
        })
        .collect();
    rates.sort_by(|one, other| other.per_s.total_cmp(&one.per_s));
    rates
}

/// The waiting requests of all servers, the oldest first.
fn waiting<'a>(pairs: impl Iterator<Item = (&'a Status, &'a Status)>) -> Vec<WaitingAt> {
    let mut all: Vec<_> = pairs
        .flat_map(|(_, after)| {
            after.waiting.iter().map(|request| WaitingAt {
                server: after.server,
                request: request.clone(),
            })
        })
        .collect();
    all.sort_by_key(|at| std::cmp::Reverse(at.request.age_us));
    all
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::time::Duration;

    /// Counters after `writes` writes, each with 3 us of work and 5 us of waiting.
    fn status(writes: u64) -> Status {
        serde_json::from_value(serde_json::json!({
            "server": 0, "process_id": 1, "uptime_s": 1.0, "cpu_us": 0, "busy_us": 3 * writes,
            "used_bytes": 1024, "limit_bytes": 4096, "resident_bytes": 0, "files": 1,
            "connections": 1, "sessions": 2, "under_way": 0, "busy": 0,
            "received_bytes": 1024 * writes, "sent_bytes": 0,
            "wake_ups": 0, "turned_away": 0, "requests": {"write": writes, "read": 1},
            "waited_us": {"write": 5 * writes},
        }))
        .expect("a status")
    }

    /// Rates of 1,000 writes in two seconds, beside a server that does not answer.
    pub fn rates() -> Rates {
        let at = Instant::now();
        let before = Sample {
            at,
            servers: vec![(ServerId(0), Some(status(500))), (ServerId(1), None)],
        };
        let after = Sample {
            at: at + Duration::from_secs(2),
            servers: vec![
                (ServerId(0), Some(status(1500))),
                (ServerId(1), Some(status(1))),
            ],
        };
        Rates::between(&before, &after)
    }

    #[test]
    fn rates_are_what_has_changed_in_a_second() {
        let [servers, operations, waiting] = rates().tables();
        let busy = [
            "0",
            "500",
            "500.0 KiB",
            "0 B",
            "0%",
            "3.0",
            "0",
            "0",
            "2",
            "1.0 KiB",
            "4.0 KiB",
        ];
        assert_eq!(servers.rows, [busy.to_vec(), vec!["1", "no answer"]]);
        assert_eq!(operations.rows, [["write", "500", "5"]]);
        assert!(waiting.rows.is_empty());
    }

    #[test]
    fn a_server_that_was_started_again_counts_anew() {
        let at = Instant::now();
        let sample = |writes| Sample {
            at,
            servers: vec![(ServerId(0), Some(status(writes)))],
        };
        let rates = Rates::between(&sample(500), &sample(2));
        assert!(rates.operations.is_empty());
    }
}
