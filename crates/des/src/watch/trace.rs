//! A record of the committed events.

use serde::{Deserialize, Serialize};

use crate::event::{EventKey, ProcessId};

/// One committed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TraceRow {
    /// Its position in the total order.
    pub key: EventKey,
    /// The process that handled it.
    pub destination: ProcessId,
}

impl TraceRow {
    /// The names of the columns of [`TraceRow::to_csv`].
    pub const CSV_HEADER: &'static str = "time_ticks,depth,source,counter,destination";

    /// The row as comma-separated values.
    pub fn to_csv(&self) -> String {
        let key = &self.key;
        format!(
            "{},{},{},{},{}",
            key.time().ticks(),
            key.depth(),
            key.source().0,
            key.counter(),
            self.destination.0
        )
    }
}
