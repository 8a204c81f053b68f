//! The origin of a value.

use std::{fmt, sync::Arc};

/// The location from which a value was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a file, counted from 1.
    File(Arc<str>, usize),
    /// An option of the command line, as it was given.
    Option(Arc<str>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name, line) => write!(f, "{name}, line {line}"),
            Self::Option(text) => write!(f, "--set {text}"),
        }
    }
}
