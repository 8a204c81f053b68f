//! The pages of the memory that data is kept in.

/// Has the system give this process small pages, whatever an allocator asks for. A virtual machine often hands back
/// to its host every large page that is free: the next one who touches it waits until the host has found memory
/// for all of it, for twenty times as long as it takes to fill. Small pages are those that were used last.
pub fn keep_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!(%error, "the process's pages stay as they are");
    }
}
