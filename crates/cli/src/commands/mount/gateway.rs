//! Serving a mount in this process.

use crate::{logs, output};
use anyhow::bail;
use futago_gate_fuse::{KernelCaches, Options, UnmountMode, mount};
use futago_node::{Cluster, Futago, Recorder};
use signal_hook::{consts::TERM_SIGNALS, iterator::Signals};
use std::{path::Path, sync::mpsc, thread, time::Duration};

/// How long the last requests may take once a signal has ended the mount.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// How long the last records may take then.
const LAST_RECORDS: Duration = Duration::from_secs(2);

/// Mounts, says that it is ready, and serves until the mount is taken away or a signal ends it. What is done
/// is recorded to `record`, if that is said.
pub fn serve(
    cluster: &Cluster,
    directory: &Path,
    options: &Options,
    record: Option<&Path>,
) -> anyhow::Result<()> {
    // Made before there is a mount, which may hide it.
    let recorder = record.map(Recorder::create).transpose()?;
    let mut of_client = futago_node::Options {
        recorder: recorder.clone(),
        ..futago_node::Options::default()
    };
    if let Some(caches) = &options.caches {
        of_client = caches.with_leases(of_client);
    }
    let client = Futago::connect(cluster, of_client)?;
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let mounted = mount(client, directory, options)?;
    let unmounter = mounted.unmounter();
    let of_signal = recorder.clone();
    thread::spawn(move || {
        if signals.forever().next().is_none() {
            return;
        }
        if let Err(error) = unmounter.unmount(UnmountMode::Lazy) {
            tracing::info!(%error, "not unmounted; it was already, or cannot be");
        }
        // Open files and copies of the mount in other namespaces would keep this process for ever.
        thread::sleep(LAST_REQUESTS);
        end_soon(of_signal);
        std::process::exit(0);
    });
    // Who started this process may be gone; serving goes on.
    let _ = output::write_all(logs::ready_line().as_bytes());
    mounted.wait()?;
    end(recorder);
    Ok(())
}

/// Ends a recording. If it has been cut, the log has told already.
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

/// What the words after `--options` ask for.
pub fn parse_options(cluster: &Cluster, words: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        source: cluster.name.clone(),
        caches: Some(KernelCaches::default()),
        ..Options::default()
    };
    for word in words {
        match word.as_str() {
            "ro" => options.read_only = true,
            "rw" => options.read_only = false,
            "allow_other" => options.allow_other = true,
            "no_allow_other" => options.allow_other = false,
            "auto_unmount" => options.auto_unmount = true,
            "cache" => options.caches = Some(KernelCaches::default()),
            "no_cache" => options.caches = None,
            other => bail!(
                "mount option {other:?} is unknown; there are ro, rw, allow_other, no_allow_other, \
                 cache, no_cache and auto_unmount"
            ),
        }
    }
    Ok(options)
}
