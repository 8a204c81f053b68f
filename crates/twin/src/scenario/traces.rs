//! The recorded runs of a scenario.

use futago_lab::{document::Problem, workload::Trace};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Files of traces, each of which is read once.
#[derive(Debug)]
pub struct Traces<'a> {
    directory: &'a Path,
    read: RefCell<BTreeMap<PathBuf, Arc<Trace>>>,
}

impl<'a> Traces<'a> {
    /// Those that lie in a directory.
    pub const fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            read: RefCell::new(BTreeMap::new()),
        }
    }

    /// The trace in a file. An error names the location in the file.
    pub fn get(&self, file: &Path) -> Result<Arc<Trace>, Problem> {
        if let Some(trace) = self.read.borrow().get(file) {
            return Ok(Arc::clone(trace));
        }
        let trace = Arc::new(Trace::load(&self.directory.join(file))?);
        let mut read = self.read.borrow_mut();
        read.insert(file.to_owned(), Arc::clone(&trace));
        Ok(trace)
    }
}
