//! A general parallel discrete-event simulation engine.
//!
//! A [`Model`] is a set of logical processes. A [`Process`] has a state and handles events; it may
//! send events into the future, to itself and to others. Three executors run the same model
//! unchanged and give bit-identical results for one seed: sequential, conservative (windows from
//! the model's lookahead) and optimistic (Time Warp), over threads and over [`ranks`].
//!
//! Start with the documentation of [`Process`] and with [`models::phold`], the smallest model.
//! `docs/des.md` builds that model step by step and explains the executors.

#![forbid(unsafe_code)]

pub mod checker;
#[cfg(feature = "cli")]
pub mod command;
mod context;
mod digest;
mod event;
mod executor;
mod fault;
mod model;
pub mod models;
mod partition;
mod placement;
mod process;
mod queue;
pub mod random;
pub mod ranks;
mod settings;
mod snapshot;
mod sync;
mod time;
mod topology;
mod undo;
pub mod watch;

pub use checker::check;
pub use context::Context;
pub use event::{EventKey, ProcessId};
pub use executor::{Outcome, run, run_on};
pub use fault::Error;
pub use model::Model;
pub use placement::{EffectiveLookahead, Placement};
pub use process::Process;
pub use random::RandomStream;
pub use settings::{Executor, Settings, THREADS_MAX};
pub use snapshot::{Cloneable, Snapshot};
pub use time::Time;
pub use topology::{Link, Links, Topology};
pub use undo::{Forward, Mode, Saved, Speculative};
pub use watch::Watch;
