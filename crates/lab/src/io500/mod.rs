//! The IO500 benchmark: its phases, their files and the score, as the IO500 application has them
//! (IO500 Foundation, source of July 2026, and its submission rules, version 2.0).
//!
//! A rank is a client process. Every writing phase ends at a time limit, the stonewall, and the
//! ranks then go on until each has done as much as the fastest.

mod layout;
mod phase;
mod plan;
mod score;

pub use layout::{result, summary};
pub use phase::{Io500Phase, ScoreGroup};
pub use plan::{Io500Limits, Io500Plan};
pub use score::{Io500Score, PhaseOutcome, STONEWALL_S_VALID};
