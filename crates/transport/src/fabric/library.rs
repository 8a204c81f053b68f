//! The library, loaded when a cluster first uses a fabric.

use super::{
    FabricError,
    table::{DescribeError, DuplicateInfo, FreeInfo, GetInfo, GetVersion, OpenFabric, VERSION},
};
use libloading::{Library as Loaded, Symbol};
use std::{
    ffi::{CStr, c_int},
    io,
    sync::OnceLock,
};

/// The name under which every system has version 1 of the library's binary interface.
const NAME: &str = "libfabric.so.1";

/// The functions that the library exports.
pub struct Library {
    pub get_info: GetInfo,
    pub free_info: FreeInfo,
    pub duplicate_info: DuplicateInfo,
    pub open_fabric: OpenFabric,
    describe_error: DescribeError,
    /// The functions are in it, so it stays loaded.
    _loaded: Loaded,
}

impl Library {
    /// The library of this process.
    ///
    /// # Errors
    /// It is not installed, cannot be loaded, or is older than [`VERSION`].
    pub fn get() -> Result<&'static Self, FabricError> {
        static LIBRARY: OnceLock<Result<Library, FabricError>> = OnceLock::new();
        LIBRARY
            .get_or_init(|| Self::load(NAME))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn load(name: &str) -> Result<Self, FabricError> {
        let missing = |error: libloading::Error| FabricError::Library(error.to_string());
        // SAFETY: the initialization of libfabric has no conditions.
        let loaded = unsafe { Loaded::new(name) }.map_err(missing)?;
        // SAFETY: the types are those of the functions in the library's headers.
        let functions = unsafe {
            let version: Symbol<'_, GetVersion> = loaded.get(b"fi_version\0").map_err(missing)?;
            check(version())?;
            (
                *loaded.get(b"fi_getinfo\0").map_err(missing)?,
                *loaded.get(b"fi_freeinfo\0").map_err(missing)?,
                *loaded.get(b"fi_dupinfo\0").map_err(missing)?,
                *loaded.get(b"fi_fabric\0").map_err(missing)?,
                *loaded.get(b"fi_strerror\0").map_err(missing)?,
            )
        };
        let (get_info, free_info, duplicate_info, open_fabric, describe_error) = functions;
        Ok(Self {
            get_info,
            free_info,
            duplicate_info,
            open_fabric,
            describe_error,
            _loaded: loaded,
        })
    }

    /// An error of the library. Its numbers are those of the system, and some of its own.
    pub fn error(&self, during: &'static str, number: c_int) -> io::Error {
        // SAFETY: the function takes every number and returns a string that stays.
        let text = unsafe { CStr::from_ptr((self.describe_error)(number)) };
        let kind = io::Error::from_raw_os_error(number).kind();
        io::Error::new(kind, format!("{during}: {}", text.to_string_lossy()))
    }
}

fn check(version: u32) -> Result<(), FabricError> {
    if version >= VERSION {
        return Ok(());
    }
    let (major, minor) = (version >> 16, version & 0xffff);
    let (least_major, least_minor) = (VERSION >> 16, VERSION & 0xffff);
    Err(FabricError::Library(format!(
        "{NAME} has version {major}.{minor}, and at least {least_major}.{least_minor} is needed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_a_remedy() {
        let error = Library::load("libfabric.so.0").err().unwrap().to_string();
        for part in ["libfabric.so.0", "libfabric1", "--transport tcp"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_older_library_is_refused() {
        assert!(check(VERSION).is_ok() && check(VERSION + 1).is_ok());
        let error = check((1 << 16) | 11).unwrap_err().to_string();
        assert!(error.contains("1.11") && error.contains("1.17"), "{error}");
    }
}
