//! Serving a mount in this process.

use crate::{cluster::spawn, output};
use anyhow::bail;
use futago_client::Client;
use futago_gate_fuse::{Options, Runtime, UnmountMode, mount};
use futago_node::{Cluster, Futago, client::NodeContext};
use signal_hook::{consts::TERM_SIGNALS, iterator::Signals};
use std::{future::Future, path::Path, rc::Rc, thread};

/// A client's thread, on which the mount's operations run.
struct ClientThread(Futago);

impl Runtime for ClientThread {
    type Context = NodeContext;

    fn spawn<F>(&self, operation: impl FnOnce(Rc<Client<NodeContext>>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        // If the client has ended, the operation is dropped, which answers it.
        self.0.spawn(operation);
    }
}

/// Mounts, says that it is ready, and serves until the mount is taken away or a signal ends it.
pub fn serve(
    cluster: &Cluster,
    directory: &Path,
    options: &[String],
    threads: Option<usize>,
) -> anyhow::Result<()> {
    let options = parse_options(cluster, options, threads)?;
    let client = Futago::connect(cluster, futago_node::Options::default())?;
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let mounted = mount(ClientThread(client), directory, &options)?;
    let unmounter = mounted.unmounter();
    thread::spawn(move || {
        for _ in signals.forever() {
            if let Err(error) = unmounter.unmount(UnmountMode::Lazy) {
                tracing::warn!(%error, "cannot unmount");
            }
        }
    });
    // Who started this process may be gone; serving goes on.
    let _ = output::write_all(format!("{}\n", spawn::READY).as_bytes());
    mounted.wait()?;
    Ok(())
}

fn parse_options(
    cluster: &Cluster,
    words: &[String],
    threads: Option<usize>,
) -> anyhow::Result<Options> {
    let mut options = Options {
        source: cluster.name.clone(),
        ..Options::default()
    };
    for word in words {
        match word.as_str() {
            "ro" => options.read_only = true,
            "rw" => options.read_only = false,
            "allow_other" => options.allow_other = true,
            "no_allow_other" => options.allow_other = false,
            "auto_unmount" => options.auto_unmount = true,
            other => bail!(
                "mount option {other:?} is unknown; there are ro, rw, allow_other, no_allow_other \
                 and auto_unmount"
            ),
        }
    }
    options.threads = threads.unwrap_or(options.threads).max(1);
    Ok(options)
}
