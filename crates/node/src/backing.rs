//! The backing store of a cluster: a directory that it begins with and that changes go to.

use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// A directory behind a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackingStore {
    /// The directory.
    pub directory: PathBuf,
    /// When changes are written back to it.
    pub flush: FlushPolicy,
    /// When the data of its files is copied to the cluster.
    #[serde(default)]
    pub load: Loading,
}

/// When the data of files is copied to the cluster. Names and attributes are copied first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Loading {
    /// When a program needs the data of the file.
    #[default]
    OnDemand,
    /// Before the cluster is ready.
    First,
}

/// When changes are written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FlushPolicy {
    /// Soon after a file is at rest.
    #[default]
    Close,
    /// Every so many seconds.
    Interval(u32),
    /// When a file was not changed for so many seconds.
    Idle(u32),
    /// On request only.
    None,
}

/// A text that names no time of loading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not on-demand or first")]
pub struct UnknownLoading(String);

impl FromStr for Loading {
    type Err = UnknownLoading;

    fn from_str(text: &str) -> Result<Self, UnknownLoading> {
        match text {
            "on-demand" => Ok(Self::OnDemand),
            "first" => Ok(Self::First),
            _ => Err(UnknownLoading(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Loading {
    type Error = UnknownLoading;

    fn try_from(text: String) -> Result<Self, UnknownLoading> {
        text.parse()
    }
}

impl From<Loading> for String {
    fn from(loading: Loading) -> Self {
        loading.to_string()
    }
}

impl fmt::Display for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnDemand => "on-demand",
            Self::First => "first",
        })
    }
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not close, interval=SECONDS, idle=SECONDS or none")]
pub struct UnknownPolicy(String);

impl FromStr for FlushPolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy(text.to_owned());
        let seconds = |count: &str| match count.parse() {
            Ok(seconds @ 1..) => Ok(seconds),
            _ => Err(unknown()),
        };
        match text.split_once('=') {
            None if text == "close" => Ok(Self::Close),
            None if text == "none" => Ok(Self::None),
            Some(("interval", count)) => seconds(count).map(Self::Interval),
            Some(("idle", count)) => seconds(count).map(Self::Idle),
            _ => Err(unknown()),
        }
    }
}

impl TryFrom<String> for FlushPolicy {
    type Error = UnknownPolicy;

    fn try_from(text: String) -> Result<Self, UnknownPolicy> {
        text.parse()
    }
}

impl From<FlushPolicy> for String {
    fn from(policy: FlushPolicy) -> Self {
        policy.to_string()
    }
}

impl fmt::Display for FlushPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Close => f.write_str("close"),
            Self::Interval(seconds) => write!(f, "interval={seconds}"),
            Self::Idle(seconds) => write!(f, "idle={seconds}"),
            Self::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_loading_are_what_they_are_written_as() {
        for text in ["on-demand", "first"] {
            assert_eq!(text.parse::<Loading>().unwrap().to_string(), text);
        }
        assert!("later".parse::<Loading>().is_err());
    }

    #[test]
    fn policies_are_what_they_are_written_as() {
        for text in ["close", "interval=5", "idle=30", "none"] {
            assert_eq!(text.parse::<FlushPolicy>().unwrap().to_string(), text);
        }
        for text in ["", "idle", "interval=0", "interval=x", "none=1"] {
            assert!(text.parse::<FlushPolicy>().is_err(), "{text}");
        }
    }
}
