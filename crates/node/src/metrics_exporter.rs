//! Metrics for Prometheus, over HTTP.

use metrics_exporter_prometheus::PrometheusBuilder;
use std::{io, net::SocketAddr, sync::mpsc, thread};
use tokio::runtime::Builder;

/// Serves the metrics of this process at `http://address/metrics` on a thread of its own. It must
/// be called once, before servers are started.
///
/// # Errors
/// The address cannot be listened on, the thread cannot be started, or metrics are served already.
pub fn serve(address: SocketAddr) -> io::Result<()> {
    let (report, reported) = mpsc::channel();
    thread::Builder::new()
        .name("futago-metrics".into())
        .spawn(move || {
            if let Err(error) = run(address, &report) {
                let text = format!("cannot offer metrics at {address}: {error}");
                // The receiver is gone if the server had been running.
                if report.send(Err(io::Error::other(text.clone()))).is_err() {
                    tracing::error!("{text}");
                }
            }
        })?;
    reported.recv().map_err(io::Error::other)?
}

fn run(address: SocketAddr, report: &mpsc::Sender<io::Result<()>>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let builder = PrometheusBuilder::new().with_http_listener(address);
        let (recorder, exporter) = builder.build().map_err(io::Error::other)?;
        metrics::set_global_recorder(recorder).map_err(io::Error::other)?;
        // The receiver may be gone.
        let _ = report.send(Ok(()));
        exporter
            .await
            .map_err(|error| io::Error::other(format!("{error:?}")))
    })
}
