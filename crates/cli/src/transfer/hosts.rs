//! Clients on other hosts.

use crate::cluster::{
    launcher::{Launcher, parse_hosts},
    spawn,
};
use anyhow::Context;
use futago_staging::{Perform, RemoteClients, Setup};
use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
};

/// The hosts of a copy's clients, and how to run a program there.
pub struct Hosts {
    names: Vec<String>,
    launcher: Launcher,
}

/// Running clients on other hosts.
#[derive(Default)]
pub struct Running(Vec<Host>);

struct Host {
    clients: Arc<RemoteClients>,
    child: Child,
}

impl Hosts {
    /// The hosts of a file, one a line, or of a list with commas.
    ///
    /// # Errors
    /// The file or the launcher makes no sense.
    pub fn parse(hosts: &str, launcher: &str) -> anyhow::Result<Self> {
        let text = match Path::new(hosts).is_file() {
            true => fs::read_to_string(hosts).with_context(|| format!("reading {hosts}"))?,
            false => hosts.replace(',', "\n"),
        };
        Ok(Self {
            names: parse_hosts(&text).with_context(|| hosts.to_owned())?,
            launcher: Launcher::parse(launcher)?,
        })
    }

    /// Starts clients on all hosts.
    ///
    /// # Errors
    /// The launcher cannot be started, or a client does not read its setup.
    pub fn start(&self, setup: &Setup, interrupted: &Arc<AtomicBool>) -> anyhow::Result<Running> {
        let mut running = Running::default();
        for host in &self.names {
            let started = self.start_one(host, setup, interrupted);
            let started = started.with_context(|| format!("starting clients on {host}"))?;
            running.0.push(started);
        }
        Ok(running)
    }

    fn start_one(
        &self,
        host: &str,
        setup: &Setup,
        interrupted: &Arc<AtomicBool>,
    ) -> anyhow::Result<Host> {
        let program = std::env::current_exe()?;
        let command = [program.into(), "stage".into(), "client".into()];
        let line = self.launcher.command_line(host, &command);
        let (program, arguments) = line.split_first().context("an empty command line")?;
        // A terminal's interruption reaches this process alone, which ends the clients in order.
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (input, output) = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .context("no pipes")?;
        let (input, output) = (Box::new(input), Box::new(output));
        let clients = RemoteClients::start(host.to_owned(), input, output, setup, interrupted)?;
        Ok(Host {
            clients: Arc::new(clients),
            child,
        })
    }
}

impl Running {
    /// As many performers as there are clients.
    pub fn performers(&self, clients_of_host: usize) -> Vec<Box<dyn Perform>> {
        let of_host = |host: &Host| -> Vec<Box<dyn Perform>> {
            let one = |_| -> Box<dyn Perform> { Box::new(Arc::clone(&host.clients)) };
            (0..clients_of_host).map(one).collect()
        };
        self.0.iter().flat_map(of_host).collect()
    }

    /// Ends the clients, and kills those that do not end in time.
    pub fn end(self) {
        for Host { clients, mut child } in self.0 {
            // The end of their input ends them.
            drop(clients);
            spawn::wait_until(spawn::END_TIMEOUT, || !matches!(child.try_wait(), Ok(None)));
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
