//! Serving a mount in this process.

use crate::logs;
use anyhow::bail;
use bytesize::ByteSize;
use futago_gate_fuse::{KernelCaches, Options, UnmountMode, mount};
use futago_node::{Cluster, Futago, Recorder};
use signal_hook::{
    consts::{SIGHUP, TERM_SIGNALS},
    iterator::Signals,
};
use std::{path::Path, sync::mpsc, thread, time::Duration};

/// How long the last requests may take once a signal has ended the mount.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// How long the last records may take then.
const LAST_RECORDS: Duration = Duration::from_secs(2);

/// What a mount is asked for.
pub struct Asked {
    pub options: Options,
    /// How much of files' data its client keeps; as much as by default if it is not said.
    pub data_bytes: Option<u64>,
}

impl Asked {
    /// The mount's client.
    fn client(&self, recorder: Option<Recorder>) -> futago_node::Options {
        let mut client = futago_node::Options {
            recorder,
            ..futago_node::Options::default()
        };
        if let Some(bytes) = self.data_bytes {
            client.client.data_bytes_max = bytes;
        }
        match &self.options.caches {
            Some(caches) => caches.with_leases(client),
            None => client,
        }
    }
}

/// Mounts, says that it is ready, and serves until the mount is taken away or a signal ends it. What is done
/// is recorded to `record`, if that is said. `at_exit` is called if a signal ends the process.
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
    let mut signals = Signals::new(TERM_SIGNALS.iter().chain([&SIGHUP]))?;
    let mounted = mount(client, directory, &asked.options)?;
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
        at_exit();
        std::process::exit(0);
    });
    logs::say_ready();
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

/// What the words after `--options` ask for; `source` is what the mount table says is mounted.
pub fn parse_options(source: &str, words: &[String]) -> anyhow::Result<Asked> {
    let mut options = Options {
        source: source.to_owned(),
        caches: Some(KernelCaches::default()),
        ..Options::default()
    };
    let mut data_bytes = None;
    for word in words {
        match word.as_str() {
            "ro" => options.read_only = true,
            "rw" => options.read_only = false,
            "allow_other" => options.allow_other = true,
            "no_allow_other" => options.allow_other = false,
            "auto_unmount" => options.auto_unmount = true,
            "cache" => options.caches = Some(KernelCaches::default()),
            "no_cache" => options.caches = None,
            other => data_bytes = Some(parse_cache(other)?),
        }
    }
    Ok(Asked {
        options,
        data_bytes,
    })
}

fn parse_cache(word: &str) -> anyhow::Result<u64> {
    let Some(size) = word.strip_prefix("cache=") else {
        bail!(
            "mount option {word:?} is unknown; there are ro, rw, allow_other, no_allow_other, cache, cache=SIZE, \
             no_cache and auto_unmount"
        );
    };
    let Ok(ByteSize(bytes)) = size.parse() else {
        bail!("mount option {word:?}: {size:?} is no size; 64MiB or 0 would be");
    };
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> anyhow::Result<Asked> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        parse_options("cluster", &words)
    }

    #[test]
    fn a_mount_keeps_as_much_as_its_options_say() {
        let asked = parsed(&["ro", "cache=8MiB"]).expect("options");
        let client = asked.client(None);
        assert!(asked.options.read_only && client.leases);
        assert_eq!(client.client.data_bytes_max, 8 << 20);
    }

    #[test]
    fn without_a_size_a_mount_keeps_what_clients_do_by_default() {
        let by_default = futago_node::Options::default().client.data_bytes_max;
        let client = parsed(&["cache"]).expect("options").client(None);
        assert_eq!(client.client.data_bytes_max, by_default);
        assert!(!parsed(&["no_cache"]).expect("options").client(None).leases);
    }

    #[test]
    fn unknown_options_and_sizes_are_named() {
        for (word, told) in [
            ("cach=1", "\"cach=1\" is unknown"),
            ("cache=much", "\"much\" is no size"),
        ] {
            let error = parsed(&[word]).err().expect("an error").to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
