//! Numbers of open files. A new file gets the lowest free number, as in POSIX.

use crate::outcome::error;
use futago_node::blocking::File;
use std::{collections::BTreeMap, io, mem, sync::Arc};

/// The most files that a process may have open.
const OPEN_FILES_MAX: usize = 1 << 20;

/// The open files of a process, by number.
pub struct Descriptors {
    files: Vec<Option<Arc<File>>>,
    /// No lower number is free.
    free_from: usize,
}

impl Descriptors {
    pub const fn new() -> Self {
        Self {
            files: Vec::new(),
            free_from: 0,
        }
    }

    /// Gives a file a number.
    pub fn add(&mut self, file: Arc<File>) -> io::Result<libc::c_int> {
        let used = self.files[self.free_from..]
            .iter()
            .take_while(|file| file.is_some());
        let number = self.free_from + used.count();
        if number >= OPEN_FILES_MAX {
            return Err(error(libc::EMFILE));
        }
        if number == self.files.len() {
            self.files.push(None);
        }
        self.files[number] = Some(file);
        self.free_from = number + 1;
        Ok(number as libc::c_int)
    }

    pub fn get(&self, number: libc::c_int) -> io::Result<Arc<File>> {
        let number = usize::try_from(number).ok();
        let file = number.and_then(|number| self.files.get(number)?.as_ref());
        file.map(Arc::clone).ok_or_else(|| error(libc::EBADF))
    }

    /// Frees a number.
    pub fn remove(&mut self, number: libc::c_int) -> io::Result<Arc<File>> {
        let index = usize::try_from(number).ok();
        let slot = index.and_then(|index| Some((index, self.files.get_mut(index)?.take()?)));
        let (index, file) = slot.ok_or_else(|| error(libc::EBADF))?;
        self.free_from = self.free_from.min(index);
        Ok(file)
    }

    /// Replaces each file, or frees its numbers. Numbers of one file stay those of one file.
    pub fn map(&self, file: impl Fn(&File) -> Option<File>) -> Self {
        let mut replaced: BTreeMap<*const File, Option<Arc<File>>> = BTreeMap::new();
        let mapped = |slot: &Option<Arc<File>>| {
            let of = slot.as_ref()?;
            let new = replaced.entry(Arc::as_ptr(of));
            new.or_insert_with(|| file(of).map(Arc::new)).clone()
        };
        Self {
            files: self.files.iter().map(mapped).collect(),
            free_from: 0,
        }
    }

    /// Frees all numbers.
    pub fn take(&mut self) -> Vec<Option<Arc<File>>> {
        mem::replace(self, Self::new()).files
    }
}
