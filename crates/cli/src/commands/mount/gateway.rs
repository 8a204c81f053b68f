//! Serving a mount in this process.

use crate::logs;
use futago_gate_fuse::{Options, UnmountMode, mount};
use futago_node::{Cluster, CooperativeChoice, Futago, Recorder, Starter};
use rustix::fs::syncfs;
use signal_hook::{
    consts::{SIGHUP, TERM_SIGNALS},
    iterator::Signals,
};
use std::{fs::File, path::Path, sync::mpsc, thread, time::Duration};

/// How long the last requests may take once a signal has ended the mount.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// How long the last records may take then.
const LAST_RECORDS: Duration = Duration::from_secs(2);

/// The settings of a mount.
pub struct Asked {
    pub options: Options,
    /// How much of files' data its client keeps; as much as by default if it is not said.
    pub data_bytes: Option<u64>,
    /// Whether its client shares its cache.
    pub cooperative: CooperativeChoice,
    /// Whether its client updates the metrics of this process.
    pub publishes_metrics: bool,
}

impl Asked {
    /// The mount's client.
    pub fn client(&self, recorder: Option<Recorder>) -> futago_node::Options {
        let mut client = futago_node::Options {
            recorder,
            cooperative: self.cooperative,
            publishes_metrics: self.publishes_metrics,
            ..futago_node::Options::default()
        };
        if let Some(bytes) = self.data_bytes {
            client.client.data_bytes_max = bytes;
        }
        match &self.options.caches {
            Some(caches) => caches.with_leases(client),
            None => futago_node::Options {
                cooperative: CooperativeChoice::Off,
                ..client
            },
        }
    }
}

/// Mounts, prints that it is ready, and serves until the mount is taken away or a signal ends it.
/// `record` is the file for a record of the operations. `at_exit` is called if a signal ends the
/// process.
pub fn serve(
    cluster: &Cluster,
    directory: &Path,
    asked: &Asked,
    record: Option<&Path>,
    at_exit: impl FnOnce() + Send + 'static,
) -> anyhow::Result<()> {
    // Made before there is a mount, which may hide it.
    let recorder = record.map(Recorder::create).transpose()?;
    let client = Futago::connect(cluster, asked.client(recorder.clone()))?;
    let signals = Signals::new(TERM_SIGNALS.iter().chain([&SIGHUP]))?;
    let mounted = mount(client, directory, &asked.options)?;
    let (unmounter, client) = (mounted.unmounter(), mounted.starter());
    let (directory, of_signal) = (directory.to_owned(), recorder.clone());
    at_signal(signals, move || {
        store_all(&directory, &client);
        if let Err(error) = unmounter.unmount(UnmountMode::Lazy) {
            tracing::info!(%error, "not unmounted; it was already, or cannot be");
        }
        // Open files and copies of the mount in other namespaces would keep this process for ever.
        thread::sleep(LAST_REQUESTS);
        end_soon(of_signal);
        at_exit();
        std::process::exit(0);
    });
    logs::say_ready();
    mounted.wait()?;
    end(recorder);
    Ok(())
}

/// Does something at the first signal. A second one ends the process at once.
fn at_signal(mut signals: Signals, end: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            thread::spawn(end);
            signals.next();
            tracing::error!("ended by a second signal: writes may be lost");
            std::process::exit(1);
        }
    });
}

/// Brings to the servers what programs have written: the kernel sends stores through mappings, the
/// client what it buffers. Later writes are sent at once.
fn store_all(directory: &Path, client: &Starter) {
    let synchronized = File::open(directory).and_then(|file| Ok(syncfs(file)?));
    if let Err(error) = synchronized {
        tracing::info!(%error, "the kernel is not told to send what is mapped");
    }
    client.stop_buffering();
}

/// Ends a recording. If it was cut, the log has a message already.
fn end(recorder: Option<Recorder>) {
    if let Some(recorder) = recorder {
        let _ = recorder.end();
    }
}

/// The same, but no longer than what reads the recording may leave it unread.
fn end_soon(recorder: Option<Recorder>) {
    let (ended, end_of_recording) = mpsc::channel();
    thread::spawn(move || {
        end(recorder);
        ended.send(())
    });
    if end_of_recording.recv_timeout(LAST_RECORDS).is_err() {
        tracing::warn!("the recording is cut: it could not be written in time");
    }
}
