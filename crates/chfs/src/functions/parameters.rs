//! Parameters of later calls.

use crate::settings;
use futago_posix::outcome;
use std::ffi::c_int;

/// The chunk size of files created from now on, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_chunk_size(chunk_size: c_int) {
    outcome::of_call(|| {
        settings::change(|settings| settings.set_chunk_bytes(chunk_size.into()));
    });
}

/// Small writes are buffered if the size is above 0 when the process connects.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_buf_size(buf_size: c_int) {
    outcome::of_call(|| settings::change(|settings| settings.is_buffered = buf_size > 0));
}

/// How long a silent server is waited for, from the next connection on; 0 stands for ever.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_rpc_timeout_msec(timeout: c_int) {
    outcome::of_call(|| settings::change(|settings| settings.set_give_up(timeout.into())));
}

/// Without effect: the requests of a call are always under way at once.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_async_access(_enable: c_int) {}

/// Without effect: there is no RDMA.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_rdma_thresh(_thresh: usize) {}

/// Without effect: the servers of a cluster do not change.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_node_list_cache_timeout(_timeout: c_int) {}

/// Without effect: staging chooses the size of its buffers.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_set_stagein_buf_size(_buf_size: c_int) {}
