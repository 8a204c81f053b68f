//! How much a decision had to do.

/// What a server did to decide, in the units that cost time. A simulation charges for them; a real
/// server may show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Records that were looked up by their key.
    pub records_read: u32,
    /// Records that were passed in a range.
    pub records_scanned: u32,
    /// Records that are put or deleted.
    pub records_written: u32,
    /// Bytes of file data that are stored or sent.
    pub data_bytes: u64,
    /// Messages that are sent.
    pub messages: u32,
}
