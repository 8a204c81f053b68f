//! Clients that share their caches: one thread answers other clients ([`serving`]), and the
//! client's thread has the connections to those that this client asks ([`holders`]).

mod door;
pub(super) mod holders;
mod serving;

pub use serving::Serving;
