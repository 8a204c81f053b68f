//! Decisions that real and simulated nodes share: when a client sends a request, sends it again or
//! gives up, what a server does with each message, how many requests may be under way, how clocks
//! stay in step, and how long a thread polls before it blocks.
//!
//! Nothing here does input or output. Time is an argument; actions are results.
#![no_std]

extern crate alloc;

mod admission;
mod calls;
mod clock;
mod config;
mod link;
mod polling;
mod serving;

pub use admission::{Admission, AdmissionConfig, AdmissionUndo};
pub use calls::{CallOutput, Calls, CallsUndo};
pub use clock::HybridClock;
pub use config::CallsConfig;
pub use polling::{BUSY_MAX, Contention, PREEMPTION_MIN, SpinLimit};
pub use serving::{Core, Receiver, ServerDriver, ServerDriverUndo};

use futago_wire::Request;

/// Whether a request bypasses the window of its connection. Such a request may wait as long as a
/// user likes, or it lets other requests continue: in the same queue it could block all of them, or
/// they could block it.
pub const fn is_express(request: &Request) -> bool {
    matches!(
        request,
        Request::SetLock { .. }
            | Request::CancelLock { .. }
            | Request::Decide { .. }
            | Request::GiveBack(_)
            | Request::EndExclusive { .. }
            | Request::StillWriting(_)
            | Request::NextRestorations { .. }
            | Request::KeepAlive
            | Request::EndSession
    )
}
