//! Watching a run: gauges while it runs, statistics and traces afterwards.

mod gauges;
mod memory;
mod series;
mod statistics;
mod trace;

pub(crate) use gauges::Reading;
pub use gauges::{Sample, Watch};
pub use memory::{peak_resident_bytes, resident_bytes};
pub use series::Series;
pub use statistics::{HotSpot, Statistics};
pub(crate) use statistics::{RunShape, Tally};
pub use trace::TraceRow;
