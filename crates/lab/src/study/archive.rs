//! An archive of completed points.

use crate::results::PointResult;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

/// The results of one figure, in a file that is rewritten after every point.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    version: String,
    stored: BTreeMap<String, PointResult>,
}

/// The reason why results cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error("cannot keep results in {0}: {1}")]
    File(PathBuf, io::Error),
    /// The file has other contents.
    #[error("{0} holds no results: {1}; remove it to run all points again")]
    Contents(PathBuf, serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Contents {
    /// The program that ran the points.
    version: String,
    points: Vec<StoredPoint>,
}

#[derive(Serialize, Deserialize)]
struct StoredPoint {
    /// A hash of all parameters.
    key: String,
    #[serde(flatten)]
    result: PointResult,
}

/// A hash of all parameters of a point.
pub fn key(document: &serde_json::Value, seed: u64) -> String {
    let text = format!("{document} {seed}");
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

impl Archive {
    /// Opens the file, or creates it. Results of another version of the program are dropped.
    pub fn open(path: &Path, version: &str) -> Result<Self, ArchiveError> {
        let mut archive = Self {
            path: path.to_owned(),
            version: version.to_owned(),
            stored: BTreeMap::new(),
        };
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(archive),
            Err(error) => return Err(ArchiveError::File(path.to_owned(), error)),
        };
        let contents: Contents = serde_json::from_slice(&text)
            .map_err(|error| ArchiveError::Contents(path.to_owned(), error))?;
        if contents.version == version {
            let points = contents.points.into_iter();
            archive.stored = points.map(|point| (point.key, point.result)).collect();
        }
        Ok(archive)
    }

    /// The result of a point, if it is stored.
    pub fn get(&self, key: &str) -> Option<&PointResult> {
        self.stored.get(key)
    }

    /// Stores the result of a point, on disk too.
    pub fn put(&mut self, key: String, result: PointResult) -> Result<(), ArchiveError> {
        self.stored.insert(key, result);
        let all: Vec<String> = self.stored.keys().cloned().collect();
        self.write(&all)
    }

    /// Writes the points of these keys, in this order, and no others.
    pub fn write(&self, keys: &[String]) -> Result<(), ArchiveError> {
        let points = keys.iter().filter_map(|key| {
            let result = self.stored.get(key)?.clone();
            Some(StoredPoint {
                key: key.clone(),
                result,
            })
        });
        let contents = Contents {
            version: self.version.clone(),
            points: points.collect(),
        };
        let wrong = |error| ArchiveError::File(self.path.clone(), error);
        let text = serde_json::to_vec_pretty(&contents).map_err(|error| wrong(error.into()))?;
        let beside = self.path.with_extension("json.new");
        fs::write(&beside, text).map_err(wrong)?;
        fs::rename(&beside, &self.path).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(number: u64) -> PointResult {
        let parameters = BTreeMap::from([("seed".to_owned(), number.into())]);
        PointResult::collect(parameters, Vec::new())
    }

    #[test]
    fn results_outlive_the_program_but_not_its_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let mut archive = Archive::open(&path, "1").unwrap();
        archive.put("b".into(), point(1)).unwrap();
        archive.put("a".into(), point(2)).unwrap();
        archive.write(&["b".into(), "a".into()]).unwrap();
        let again = Archive::open(&path, "1").unwrap();
        assert_eq!(again.get("a"), Some(&point(2)));
        assert_eq!(again.get("c"), None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.find("\"b\"") < text.find("\"a\""));
        assert_eq!(Archive::open(&path, "2").unwrap().get("a"), None);
    }

    #[test]
    fn a_file_of_something_else_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        fs::write(&path, "{}").unwrap();
        let error = Archive::open(&path, "1").unwrap_err().to_string();
        assert!(error.contains("holds no results"), "{error}");
    }

    #[test]
    fn a_key_stands_for_all_parameters_and_the_seed() {
        let one = serde_json::json!({"cluster": {"servers": 1}});
        let two = serde_json::json!({"cluster": {"servers": 2}});
        assert_ne!(key(&one, 1), key(&two, 1));
        assert_ne!(key(&one, 1), key(&one, 2));
        assert_eq!(key(&one, 1), key(&one.clone(), 1));
    }
}
