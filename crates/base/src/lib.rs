//! Types that all cores share: identities, time, errors, and the records of a server's state. A
//! handler reads the state through a [`View`] and changes it by a [`Batch`].
//!
//! The crate performs no I/O, reads no clock and draws no random numbers. CI checks this by a build
//! for a target without an operating system.
#![no_std]

extern crate alloc;

pub mod attributes;
pub mod batch;
pub mod data;
pub mod errno;
pub mod gathered;
pub mod ids;
pub mod limits;
pub mod map;
pub mod name;
pub mod overlay;
pub mod pattern;
pub mod payload;
pub mod record;
pub mod reversible;
pub mod search;
pub mod source;
pub mod store;
pub mod time;
pub mod view;
pub mod work;
pub mod xattr_name;

pub use attributes::{Attributes, Kind};
pub use batch::{Batch, DataChange};
pub use errno::Errno;
pub use gathered::Gathered;
pub use ids::{
    ChunkId, FileId, Incarnation, Partition, RequestId, ServerId, SessionId, TransactionId,
};
pub use map::ClusterMap;
pub use name::{BucketStart, Name, NameHash, deserialize_level};
pub use overlay::Overlay;
pub use pattern::Pattern;
pub use payload::Payload;
pub use record::{Key, Value};
pub use source::Source;
pub use store::Store;
pub use time::{Duration, Moment, Time, Timestamp};
pub use view::{Space, View};
pub use work::Work;
pub use xattr_name::XattrName;
