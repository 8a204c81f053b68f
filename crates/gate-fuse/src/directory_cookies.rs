//! The cookies of listings, for as long as the kernel knows the directory.

use crate::interruption::locked;
use futago_base::{Errno, FileId};
use futago_files::listing::{Cookies, Position};
use std::collections::HashMap;
use std::sync::Mutex;

/// The directories with cookies that have to be remembered.
#[derive(Debug, Default)]
pub struct DirectoryCookies(Mutex<HashMap<FileId, Cookies>>);

impl DirectoryCookies {
    /// The position that a cookie stands for.
    ///
    /// # Errors
    /// `EINVAL` for a cookie that was never given.
    pub fn position(&self, directory: FileId, cookie: u64) -> Result<Position, Errno> {
        match locked(&self.0).get(&directory) {
            Some(cookies) => cookies.position(cookie),
            None => Cookies::default().position(cookie),
        }
    }

    /// Gives out cookies.
    pub fn give<T>(&self, directory: FileId, give: impl FnOnce(&mut Cookies) -> T) -> T {
        let mut directories = locked(&self.0);
        let cookies = directories.entry(directory).or_default();
        let given = give(cookies);
        if cookies.is_empty() {
            directories.remove(&directory);
        }
        given
    }

    /// The kernel does not know a directory any more.
    pub fn forget(&self, directory: FileId) {
        locked(&self.0).remove(&directory);
    }
}
