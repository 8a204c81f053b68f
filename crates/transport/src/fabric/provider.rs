//! The provider of a cluster's fabric.

use super::{library::Library, options::Info};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The longest name of a provider, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// A provider of libfabric, by its name there: `tcp`, `shm`, `verbs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Provider(String);

impl Provider {
    /// Verifies that the library is on this host and offers endpoints of the provider.
    ///
    /// # Errors
    /// The library or the provider is missing.
    pub fn ensure_usable(&self) -> Result<(), FabricError> {
        Info::find(Library::get()?, self, None).map(drop)
    }

    /// Whether it connects processes of one host only.
    pub fn is_within_host(&self) -> bool {
        self.0 == "shm"
    }

    /// The name under which the library offers reliable endpoints without connections. It makes
    /// them of the connections of two providers.
    pub(super) fn full_name(&self) -> String {
        match self.0.as_str() {
            "tcp" | "verbs" => format!("{};ofi_rxm", self.0),
            name => name.to_owned(),
        }
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self("tcp".into())
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-;".contains(c);
        match !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_allowed) {
            true => Ok(Self(name.into())),
            false => Err(format!("{name:?} is no name of a libfabric provider")),
        }
    }
}

impl TryFrom<String> for Provider {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<Provider> for String {
    fn from(provider: Provider) -> Self {
        provider.0
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a fabric cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// The library cannot be loaded.
    #[error(
        "libfabric cannot be used on this host: {0}; install it (libfabric1 on Debian), or use --transport tcp"
    )]
    Library(String),
    /// The provider cannot be used.
    #[error(
        "libfabric's provider {provider} cannot be used on this host: {reason}; fi_info lists those that can"
    )]
    Provider {
        /// Its name.
        provider: String,
        /// The reason.
        reason: String,
    },
}
