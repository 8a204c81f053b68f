//! The pages of the memory that stores data.

/// Makes the system give this process small pages, whatever the allocator requests.
///
/// A virtual machine often returns free large pages to its host. The next access waits until the
/// host has found memory for the whole page, which takes twenty times as long as filling it. Small
/// pages are reused while they are recent.
pub fn keep_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!(%error, "the process's pages stay as they are");
    }
}
