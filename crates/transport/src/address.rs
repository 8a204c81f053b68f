//! The address that a server listens at.

use crate::Party;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// The longest path that the kernel accepts for a Unix socket, in bytes.
const UNIX_PATH_BYTES: usize = 107;

/// The address that a server listens at: `tcp:host:port` or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// A TCP port, as `host:port`; an IPv6 address is in brackets.
    Tcp(String),
    /// A Unix socket at an absolute path.
    Unix(PathBuf),
}

/// The reason why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an address: {reason}")]
pub struct AddressError {
    text: String,
    reason: &'static str,
}

impl Address {
    /// The Unix socket over which processes of the party's host hand over shared memory.
    ///
    /// It is the party's own address, or an abstract name beside a TCP port. A container with a
    /// network namespace of its own does not see that name.
    pub fn nearby(&self, cluster: u64, party: Party) -> Option<PathBuf> {
        match self {
            Self::Tcp(host_and_port) => {
                let (_, port) = host_and_port.rsplit_once(':')?;
                Some(format!("\0futago-{cluster:016x}-{party}-{port}").into())
            }
            Self::Unix(path) => Some(path.clone()),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parsed = match text.split_once(':') {
            Some(("tcp", rest)) => tcp(rest),
            Some(("unix", path)) => unix(path),
            _ => Err("write tcp:host:port or unix:/path"),
        };
        parsed.map_err(|reason| AddressError {
            text: text.to_owned(),
            reason,
        })
    }
}

fn tcp(host_and_port: &str) -> Result<Address, &'static str> {
    let (host, port) = host_and_port
        .rsplit_once(':')
        .ok_or("the port is missing")?;
    if host.is_empty() {
        return Err("the host is missing");
    }
    port.parse::<u16>()
        .map_err(|_| "the port is not a number from 0 to 65535")?;
    Ok(Address::Tcp(host_and_port.to_owned()))
}

fn unix(path: &str) -> Result<Address, &'static str> {
    if !path.starts_with('/') {
        return Err("the path of a Unix socket must be absolute");
    }
    if path.len() > UNIX_PATH_BYTES {
        return Err("the path of a Unix socket has at most 107 bytes");
    }
    Ok(Address::Unix(PathBuf::from(path)))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host_and_port) => write!(f, "tcp:{host_and_port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;
    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_as_written() {
        for text in ["tcp:node1:7000", "tcp:[::1]:0", "unix:/run/futago/0.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        let long = format!("unix:/{}", "x".repeat(107));
        for text in [
            "",
            "tcp:node1",
            "tcp::7",
            "tcp:a:70000",
            "unix:a",
            "udp:a:1",
            &long,
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
