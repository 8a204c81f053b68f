//! The memory of this program.

use std::ffi::{c_int, c_long};

/// A server allocates a dozen small things a request; here they cost a tenth of its time less than
/// in the system's allocator (`cargo bench -p futago-server`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 3 (`mi_option_e` in mimalloc.h): for how many milliseconds
/// the system does not get freed memory back.
const PURGE_DELAY: c_int = 15;
/// Long enough for a program that removes and writes its data again every now and then, short
/// against what else is done on a host.
const RETENTION_MS: c_long = 60_000;

/// Has this process keep freed memory for a minute. The allocator's second is over before a file
/// that was removed is written anew, and then every page of it is asked of the system once more,
/// which takes two thirds of a server's time. `MIMALLOC_PURGE_DELAY` says otherwise.
pub fn keep_freed_memory() {
    // SAFETY: sets a number of the allocator, which any of its threads may read meanwhile.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, RETENTION_MS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_retained_for_longer_than_by_default() {
        // SAFETY: reads a number of the allocator.
        let retention_ms = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(retention_ms(), 1000, "not the option that is meant");
        keep_freed_memory();
        assert_eq!(retention_ms(), RETENTION_MS);
    }
}
