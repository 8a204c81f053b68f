//! Errors in a document, and their locations.

use super::Origin;
use serde::de;
use std::fmt;

/// An error in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The location.
    pub origin: Option<Origin>,
    /// The key, from the outermost table inwards; empty for the whole document.
    pub key: Vec<String>,
    /// The message.
    pub message: String,
    /// The suggested correction.
    pub suggestion: Option<String>,
}

impl Problem {
    /// An error without a location.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            origin: None,
            key: Vec::new(),
            message: message.into(),
            suggestion: None,
        }
    }

    /// Adds a suggestion.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds the location, unless a closer one is known.
    pub fn at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Adds the key of the table or list that holds the value.
    pub fn inside(mut self, key: impl Into<String>) -> Self {
        self.key.insert(0, key.into());
        self
    }

    /// A word that is not among the known ones.
    pub fn unknown(what: &str, word: &str, known: &[impl AsRef<str>]) -> Self {
        let problem = Self::new(format!("unknown {what} `{word}`"));
        if let Some(near) = nearest(word, known) {
            return problem.suggest(format!("did you mean `{near}`?"));
        }
        let all: Vec<String> = known
            .iter()
            .map(|name| format!("`{}`", name.as_ref()))
            .collect();
        if all.is_empty() {
            return problem.suggest("there are none");
        }
        problem.suggest(format!("there are {}", all.join(", ")))
    }
}

/// The known word that is most similar to `word`, if one is similar enough (Damerau and
/// Levenshtein's distance, at most a third of the letters).
pub fn nearest<'a>(word: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(word, name);
    let near = known
        .iter()
        .map(AsRef::as_ref)
        .min_by_key(|n| distance(n))?;
    let letters = word.chars().count().max(near.chars().count());
    (distance(near) <= (letters / 3).max(1)).then_some(near)
}

/// The expected value, in words without Rust types.
fn wanted(expected: &dyn de::Expected) -> String {
    let expected = expected.to_string();
    match expected.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number from 0 on",
        "f64" => "a number",
        // A message of `bytesize`.
        "parsable string" => "a size, such as `64MiB`",
        _ => return expected,
    }
    .to_owned()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key.join("."))?;
        }
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("key", field, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("word", variant, expected)
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("{found} is not {}", wanted(expected)))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is missing"))
    }
}
