//! The simulated world: the real cores and drivers on machines that do not exist, run by the engine
//! [`futago_des`].
//!
//! A [`Setup`] says what there is; [`Measured`] what came of it.

mod arrivals;
mod check;
mod client;
mod conductor;
mod event;
mod gather;
mod host;
mod latency;
mod link;
mod measured;
mod message;
mod model;
mod options;
mod process;
mod run;
mod scene;
mod setup;
mod statistics;

pub use arrivals::{ArrivalProcess, Arrivals};
pub use check::Error;
pub use client::{
    DataWork, Done, NameWork, Names, TraceWork, Work, directory_name, find_file, make_file,
    own_name,
};
pub use latency::Latency;
pub use measured::{
    Measured, MeasuredOperation, MeasuredPhase, MeasuredResource, MeasuredSources,
    MeasuredTransactions, ResourceClass,
};
pub use options::RunOptions;
pub use run::{check, run, run_on};
pub(crate) use setup::share;
pub use setup::{
    Activity, AfterIdle, Amount, ClientCosts, Costs, Data, Directory, Disk, DiskReads, Faults,
    FileNames, Hop, Host, HostPartition, Looking, ManyFiles, MessageCosts, MessageSize, Mix,
    MuchData, Network, OperationKind, Path, Phase, Place, Popularity, Protocol, ServerCosts,
    ServerStop, Setup, SharedLink, Store, WideDirectories,
};
