//! Cooperative caching: clients read what other clients have in their caches.
//!
//! A reader that misses asks the home of the file which client has a copy, for many pieces at once
//! ([`plan`]). It asks that client, and the servers for whatever the client does not have
//! ([`reading`]). A holder answers from its cache, and waits for what it is just fetching itself
//! ([`serving`], [`fetches`]). It has the next pieces under way before its program asks for them
//! ([`ahead`]). A client that writes a file alone has it, too ([`writing`]). Instead of evicting
//! blocks that probably no other client has, it passes them to one, if the cluster is set up so
//! ([`forwarding`]). A command that loads a file into many caches asks which clients share theirs
//! ([`sharers`]).
//!
//! Coherence needs no word between the clients. The holder answers only while its own lease covers
//! what it has, so its data is the file's at a moment after it was asked. The reader takes it only
//! if its own lease covered one version of the data from before it asked until it has the answer.

mod ahead;
mod fetches;
mod forwarding;
mod plan;
mod queue;
mod reading;
mod serving;
mod sharers;
mod writing;

pub use ahead::Ahead;
pub use fetches::Fetches;
pub use forwarding::{Forwarding, Leaving};
pub use plan::{Sharing, SharingUndo};
pub use serving::Served;
