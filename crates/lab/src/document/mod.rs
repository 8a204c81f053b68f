//! TOML, and lines of JSON, in which every value knows its origin. So an error names its line and
//! key, in a file, in a list of values to try, or on the command line.
//!
//! [`Node::parse`] reads a text, [`Node::merge`] and [`Node::set`] overlay one on another, and
//! [`Node::read`] deserializes the result through serde. An unknown key is an error with a
//! suggestion, if the type says `deny_unknown_fields`.

pub mod bounds;
mod deserialize;
mod json;
mod node;
mod origin;
mod parse;
mod problem;

pub use node::{Entry, Node, Table, Value};
pub use origin::Origin;
pub use problem::{Problem, nearest};

#[cfg(test)]
mod tests;
