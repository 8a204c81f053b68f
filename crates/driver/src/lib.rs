//! Decisions that real and simulated nodes share: when a request is sent, sent again or given up,
//! how many may be under way, how clocks are kept in step, how long to look before going to sleep.
//!
//! Nothing here does input or output. Time comes in as an argument; what is to be done comes out
//! as values.
#![no_std]

extern crate alloc;

mod admission;
mod calls;
mod clock;
mod config;
mod link;
mod patience;

pub use admission::{Admission, AdmissionConfig, AdmissionUndo};
pub use calls::{CallOutput, Calls, CallsUndo};
pub use clock::HybridClock;
pub use config::CallsConfig;
pub use patience::{Crowding, OVERRUN, Patience, TURN_MAX};

use futago_wire::Request;

/// Whether a request goes past the window of its connection: it may wait for as long as a user
/// likes, or it lets others go on, so that to queue it behind them could block all of them.
pub const fn is_express(request: &Request) -> bool {
    matches!(
        request,
        Request::SetLock { .. }
            | Request::CancelLock { .. }
            | Request::Decide { .. }
            | Request::GiveBack(_)
            | Request::KeepAlive
            | Request::EndSession
    )
}
