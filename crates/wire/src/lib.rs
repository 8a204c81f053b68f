//! The messages between clients and servers, and their encoding.
//!
//! A message is a fixed [`Header`], a body and file data. The body is a [`Request`], [`Outcome`],
//! [`Peer`], [`PeerAnswer`], [`Push`], [`CacheRequest`] or [`CacheReply`], encoded with postcard.
//! The data follows unencoded, so that it is not copied.
#![no_std]

extern crate alloc;

pub mod cache;
pub mod codec;
pub mod contact;
pub mod header;
pub mod inspection;
mod needed_data;
pub mod peer;
pub mod reply;
pub mod request;
pub mod search;
pub mod step;
pub mod touched;

pub use cache::{CacheReply, CacheRequest, CopySource, Holder, SharingCounters};
pub use codec::{Body, DecodeError, Frame};
pub use contact::{ContactMessage, ContactReply, Question, Relayed, RelayedFact};
pub use header::{Header, MessageKind};
pub use peer::{Peer, PeerAnswer, PeerChange};
pub use reply::{
    BucketsState, DirectoryState, Failure, FileState, Lease, LeaseRecall, ListedEntry, Outcome,
    Part, Push, Reply,
};
pub use request::{
    AttributeChange, LockChange, NewContent, NewNode, Request, Restored, SetTime, Spot,
};
pub use step::{NewDirectory, Step};
pub use touched::Touched;
