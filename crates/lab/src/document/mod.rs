//! TOML, and lines of JSON, in which every value knows where it comes from, so that a mistake is told with its line and
//! key, whether it was made in a file, in a list of values to try, or on the command line.
//!
//! [`Node::parse`] reads a text, [`Node::merge`] and [`Node::set`] lay one over another, and
//! [`Node::read`] makes a Rust value of the result through serde. A key that the value does not
//! have is an error with a suggestion, if the type says `deny_unknown_fields`.

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
