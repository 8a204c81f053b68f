//! The cluster's secret.

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use zeroize::{Zeroize, Zeroizing};

/// The size of the key, in bytes.
pub const KEY_BYTES: usize = 32;

/// The secret that every process of a cluster has and proves.
///
/// It never appears in logs, and is wiped from memory after use. The libraries that parse and prove
/// it retain copies that are not wiped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterKey([u8; KEY_BYTES]);

impl Drop for ClusterKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster key is {} hexadecimal digits", KEY_BYTES * 2)]
pub struct KeyError;

impl ClusterKey {
    /// A new key from the system's source of randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The key's bytes.
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl From<[u8; KEY_BYTES]> for ClusterKey {
    fn from(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }
}

impl FromStr for ClusterKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
        let bytes = Zeroizing::new(bytes.map_err(|_| KeyError)?);
        let key: &[u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_| KeyError)?;
        Ok(Self(*key))
    }
}

impl TryFrom<String> for ClusterKey {
    type Error = KeyError;
    fn try_from(text: String) -> Result<Self, KeyError> {
        Zeroizing::new(text).parse()
    }
}

impl From<ClusterKey> for String {
    fn from(key: ClusterKey) -> Self {
        HEXLOWER_PERMISSIVE.encode(&key.0)
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;

    #[test]
    fn a_key_is_wiped() {
        let mut key = ManuallyDrop::new(ClusterKey::from([7; KEY_BYTES]));
        // SAFETY: the value is not dropped again, and its bytes stay in memory.
        unsafe { ManuallyDrop::drop(&mut key) };
        assert_eq!(key.0, [0; KEY_BYTES]);
    }

    #[test]
    fn a_key_reads_back_and_does_not_show_in_logs() {
        let key = ClusterKey::generate().unwrap();
        let text = String::from(key.clone());
        assert_eq!(text.parse::<ClusterKey>().unwrap(), key);
        assert!(!format!("{key:?}").contains(&text));
        assert_eq!("12".parse::<ClusterKey>(), Err(KeyError));
    }
}
