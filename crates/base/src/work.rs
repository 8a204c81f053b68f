//! The cost of a decision.

/// The work that a server did for a decision, in units that cost time. A simulation charges for
/// them; a real server may report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Records that were looked up by key.
    pub records_read: u32,
    /// Records that a range scan passed.
    pub records_scanned: u32,
    /// Records that are put or deleted.
    pub records_written: u32,
    /// Bytes of file data that are stored or sent.
    pub data_bytes: u64,
    /// Messages that are sent.
    pub messages: u32,
}
