//! The names of the metrics in the rules, in the dashboard and in the documents are those that
//! servers and clients offer.

use super::Status;
use futago_wire::SharingCounters;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/operations.md");
const RULES: &str = include_str!("../../../../../share/prometheus/futago.rules.yml");
const DASHBOARD: &str = include_str!("../../../../../share/grafana/futago.json");

/// A server that has served a request, which waited.
fn status() -> Status {
    let fields = [
        "server",
        "process_id",
        "uptime_s",
        "cpu_us",
        "busy_us",
        "used_bytes",
        "limit_bytes",
        "resident_bytes",
        "files",
        "connections",
        "sessions",
        "under_way",
        "busy",
        "received_bytes",
        "sent_bytes",
        "wake_ups",
        "turned_away",
    ];
    let mut status: serde_json::Map<_, _> = fields
        .map(|field| (field.to_owned(), json!(1)))
        .into_iter()
        .collect();
    status.insert("requests".into(), json!({"read": 1}));
    status.insert("waited_us".into(), json!({"read": 1}));
    serde_json::from_value(status.into()).expect("a status with all fields")
}

fn offered() -> BTreeSet<String> {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        status().publish();
        crate::client::metrics::publish(&SharingCounters::default());
    });
    names(&recorder.handle().render())
}

fn names(text: &str) -> BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let metrics = parts.filter(|word| word.starts_with("futago_"));
    metrics.map(str::to_owned).collect()
}

#[test]
fn the_table_names_all_metrics_and_no_others() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `futago_"));
    assert_eq!(names(&rows.collect::<String>()), offered());
}

#[test]
fn rules_and_dashboard_use_metrics_that_are_offered() {
    let used = &names(RULES) | &names(DASHBOARD);
    let unknown: Vec<_> = used.difference(&offered()).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_dashboard_is_json_and_shows_every_metric() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    assert!(dashboard["panels"].is_array());
    assert_eq!(names(DASHBOARD), offered());
}
