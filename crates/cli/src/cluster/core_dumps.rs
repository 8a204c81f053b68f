//! Core dumps of servers and mounts: they would hold the cluster key and the data of all users.

use anyhow::Context;
use clap::Args;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::ffi::OsString;

/// Whether there may be any.
#[derive(Args, Clone, Copy, Debug)]
pub struct CoreDumps {
    /// Let servers and mounts leave core dumps when they crash, and let debuggers of the same user
    /// attach. The cluster key and data are in them.
    #[arg(long)]
    allow_core: bool,
}

impl CoreDumps {
    /// The same permission, for another process.
    pub fn arguments(self) -> Option<OsString> {
        self.allow_core.then(|| "--allow-core".into())
    }

    /// Has this process leave none, unless it may.
    pub fn restrict(self) -> anyhow::Result<()> {
        if self.allow_core {
            return Ok(());
        }
        set_dumpable_behavior(DumpableBehavior::NotDumpable).context("forbidding core dumps")
    }
}
