//! The functions of `futago.h`.

pub mod attributes;
pub mod connection;
pub mod directories;
pub mod locks;
pub mod names;
pub mod opening;
pub mod queues;
pub mod reading;
pub mod sizes;
pub mod storing;
pub mod times;
pub mod writing;
pub mod xattrs;
