//! Temporary names, under which copies grow.
//!
//! A name follows from the paths of a copy, so that a repeated run finds what an interrupted one
//! has left.

use crate::TreePath;
use xxhash_rust::xxh3::xxh3_64;

/// The beginning of every temporary name.
const PREFIX: &str = ".futago-stage-";

/// The temporary names of the copies of one directory to another.
pub struct Temporaries {
    directory: TreePath,
    prefix: String,
}

impl Temporaries {
    /// The names for copies between these directories.
    pub fn between(source: &TreePath, target: &TreePath) -> Self {
        let paths = [source.bytes(), b"\0", target.bytes()].concat();
        Self {
            directory: target.clone(),
            prefix: format!("{PREFIX}{:016x}-", xxh3_64(&paths)),
        }
    }

    /// The temporary path of the copy that gets this name.
    pub fn path(&self, name: &[u8]) -> TreePath {
        let name = format!("{}{:016x}", self.prefix, xxh3_64(name));
        self.directory.join(name.as_bytes())
    }

    /// Whether a name is one of these.
    pub fn contains(&self, name: &[u8]) -> bool {
        name.starts_with(self.prefix.as_bytes())
    }
}

/// The temporary path of a copy; none of a root, which no copy replaces.
pub fn path(source: &TreePath, target: &TreePath) -> Option<TreePath> {
    let from = source.parent().unwrap_or_else(|| source.clone());
    let names = Temporaries::between(&from, &target.parent()?);
    Some(names.path(target.last_name()?))
}

/// Whether a name is the temporary name of any copy.
pub fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes())
}
