//! The operations, by kind.

pub mod attributes;
pub mod data;
pub mod directories;
pub mod locks;
pub mod names;
pub mod nodes;
pub mod open;
pub mod pages;
pub mod xattrs;
