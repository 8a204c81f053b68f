//! Metrics of a client.

use super::RecordedClient;
use futago_wire::SharingCounters;
use std::{sync::Arc, time::Duration};
use tokio::time::interval;

/// How often the metrics are updated.
const PERIOD: Duration = Duration::from_secs(1);

/// Updates the metrics of this process, for as long as the client lives.
pub async fn keep_publishing(client: Arc<RecordedClient>) {
    let mut period = interval(PERIOD);
    loop {
        period.tick().await;
        let context = client.context();
        publish(&context.with_lock(|| client.core().sharing_counters()));
    }
}

/// Updates the metrics of this process, which has one client.
pub fn publish(counters: &SharingCounters) {
    for (source, bytes) in [
        ("servers", counters.bytes_from_servers),
        ("clients", counters.bytes_from_peers),
    ] {
        metrics::counter!("futago_client_read_bytes_total", "source" => source).absolute(bytes);
    }
    for (name, value) in [
        ("futago_client_sent_bytes_total", counters.bytes_served),
        (
            "futago_client_forwarded_bytes_total",
            counters.bytes_forwarded,
        ),
        ("futago_client_asked_total", counters.asked),
        ("futago_client_served_total", counters.served),
        ("futago_client_missed_total", counters.missed),
        ("futago_client_damaged_total", counters.damaged),
    ] {
        metrics::counter!(name).absolute(value);
    }
}
