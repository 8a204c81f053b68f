//! Scenarios drawn from a seed, run against the reference, and made small when they fail.

mod perform;
mod run;
mod scenario;
mod shrink;
mod step;

pub use perform::{perform, remove_entries};
pub use run::{Checked, Failure, FailureKind, run};
pub use scenario::{Burst, Death, Scenario, WriteBack};
pub use shrink::{shrink, try_run};
pub use step::{Known, Reach, Step, Work};
