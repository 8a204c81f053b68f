//! The reference that histories are checked against: what POSIX says, one client at a time.

mod apply;
mod attributes;
mod content;
mod data;
mod locks;
mod names;
mod operation;
mod tree;

pub use apply::{Call, Slice, attempt};
pub use content::{Content, Run};
pub use operation::{LockRequest, NewKind, Observed, Operation, Outcome, released_tag};
pub use tree::{Body, File, Locker, Node, NodeId, Placed, Tree};
