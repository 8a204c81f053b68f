//! An actor that works through the library.

use crate::actor::Actor;
use crate::journal::Journal;
use futago_base::{Errno, FileId};
use futago_node::{Cluster, Futago, Options};
use futago_twin::fuzz::{Known, perform};
use futago_twin::model::{Observed, Operation, Outcome};

/// A client of the cluster, with a session of its own.
pub struct Library {
    futago: Futago,
    known: Known,
    open: Vec<FileId>,
}

impl Library {
    /// A new client, which may hold leases, and requests an exclusive one as soon as it can.
    ///
    /// # Errors
    /// As [`Futago::connect`].
    pub fn connect(cluster: &Cluster, leases: bool) -> std::io::Result<Self> {
        let mut options = Options {
            leases,
            ..Options::default()
        };
        options.client.exclusive_after = 1;
        Ok(Self {
            futago: Futago::connect(cluster, options)?,
            known: Known::default(),
            open: Vec::new(),
        })
    }

    /// The client.
    pub const fn futago(&self) -> &Futago {
        &self.futago
    }

    fn run(&self, operation: &Operation) -> Observed {
        let ran = self
            .futago
            .run_blocking(async |client| perform(client.core(), operation).await);
        ran.unwrap_or(Err(Errno::EIO))
    }

    fn learn(&mut self, operation: &Operation, outcome: &Outcome) {
        if let Outcome::File(state, _) = outcome {
            let found = &state.attributes;
            self.known.learn(found.id, found.kind);
            let opened = match operation {
                Operation::Create { open, .. } => *open,
                Operation::CreateUnnamed { .. } | Operation::Open(_) => true,
                _ => false,
            };
            self.open.extend(opened.then_some(found.id));
        }
        if let Operation::Close(id) = operation
            && let Some(at) = self.open.iter().position(|open| open == id)
        {
            self.open.swap_remove(at);
        }
    }
}

impl Actor for Library {
    fn known(&self) -> &Known {
        &self.known
    }

    fn perform(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed> {
        if matches!(operation, Operation::SetLock { wait: true, .. }) {
            // It would wait for another actor for an unknown time.
            return None;
        }
        let observed = journal.observe(operation, || self.run(operation), Some)?;
        if let Ok(outcome) = &observed {
            self.learn(operation, outcome);
        }
        Some(observed)
    }

    fn rest(&mut self) {
        for id in std::mem::take(&mut self.open) {
            // A removed file is closed, too.
            let _ = self.run(&Operation::Close(id));
        }
        self.known = Known::default();
    }
}
