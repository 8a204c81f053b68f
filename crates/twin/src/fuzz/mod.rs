//! Scenarios drawn from a seed, run against the reference, and made small when they fail.

mod burst;
mod damage;
mod disks;
mod exercise;
mod judgement;
mod loss;
mod outage;
mod perform;
mod progress;
mod promises;
mod restore;
mod run;
mod scenario;
mod script;
mod shrink;
mod step;
mod work;

pub use burst::{Absence, Burst, ClockStep, Death, Restart, Stop};
pub use perform::{perform, remove_entries};
pub use run::{Checked, Failure, FailureKind, run};
pub use scenario::{Scenario, WriteBack};
pub use shrink::{shrink, try_run};
pub use step::{Known, Reach, Step};
pub use work::Work;
