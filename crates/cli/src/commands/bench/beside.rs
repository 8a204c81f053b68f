//! A directory to be measured beside another file system.

use std::{path::PathBuf, str::FromStr};

/// A directory and the name that reports give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The name.
    pub name: String,
    /// The directory.
    pub directory: PathBuf,
}

impl FromStr for Beside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, directory)) if !name.is_empty() && !directory.is_empty() => Ok(Self {
                name: name.to_owned(),
                directory: directory.into(),
            }),
            _ => Err("it is to be NAME=DIR, such as tmpfs=/dev/shm".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_directory_are_needed() {
        let beside: Beside = "tmpfs=/dev/shm/a=b".parse().unwrap();
        assert_eq!(beside.name, "tmpfs");
        assert_eq!(beside.directory, PathBuf::from("/dev/shm/a=b"));
        for wrong in ["/dev/shm", "=/dev/shm", "tmpfs=", ""] {
            assert!(wrong.parse::<Beside>().is_err(), "{wrong}");
        }
    }
}
