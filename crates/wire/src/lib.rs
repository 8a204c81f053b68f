//! What clients and servers say to each other, and how it is written in bytes.
//!
//! A message is a fixed [`Header`], a body ([`Request`], [`Outcome`], [`Peer`], [`PeerAnswer`] or
//! [`Push`], encoded with postcard) and file data that follows as it is, so that it is never copied
//! to be encoded.
#![no_std]

extern crate alloc;

pub mod check;
pub mod codec;
pub mod header;
pub mod peer;
pub mod reply;
pub mod request;
pub mod step;
pub mod touched;

pub use codec::{Body, DecodeError, Frame};
pub use header::{Header, MessageKind, Priority};
pub use peer::{Peer, PeerAnswer, PeerChange};
pub use reply::{
    DirectoryState, Failure, FileState, Lease, LeaseRecall, ListedEntry, Outcome, Push, Reply,
};
pub use request::{AttributeChange, LockChange, NewContent, NewNode, Request, SetTime, Spot};
pub use step::{NewDirectory, Step};
pub use touched::Touched;
