//! Studies: figures with their scenarios and claims.
//!
//! A study is a directory with a file `study.toml` and the scenario files of its figures. An
//! [`Archive`] stores completed points, so that an interrupted study can be resumed.

mod archive;

pub use archive::{Archive, ArchiveError, key};

use crate::document::{Node, Problem};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its title.
    pub title: String,
    /// Its subject, in a paragraph.
    #[serde(default)]
    pub about: String,
    /// The figures.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
}

/// A figure: points of one scenario, drawn as lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// A short name, for files.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The scenario file, in the directory of the study.
    pub scenario: String,
    /// The claim of another source, with that source.
    #[serde(default)]
    pub claim: String,
    /// The finding here, and the reason for a difference.
    #[serde(default)]
    pub finding: String,
    /// The horizontal value: the key of a parameter or the name of a result, such as
    /// `cluster.clients`.
    pub x: String,
    /// The vertical value, such as `throughput.create`.
    pub y: String,
    /// The parameter that distinguishes the lines.
    #[serde(default)]
    pub series: Option<String>,
    /// The horizontal label, if it is not the name of `x`.
    #[serde(default)]
    pub x_label: Option<String>,
    /// The vertical label, if it is not the name of `y`.
    #[serde(default)]
    pub y_label: Option<String>,
    /// A logarithmic horizontal scale.
    #[serde(default)]
    pub log_x: bool,
    /// Points run one at a time, because their running time is measured.
    #[serde(default)]
    pub alone: bool,
    /// A command that runs in the directory of the study. It gets `{"points": […]}` on standard
    /// input and prints a list of one object for each point: further columns of the table. The
    /// column `bound` is drawn as a broken line.
    #[serde(default)]
    pub check: Vec<String>,
}

impl Figure {
    /// The name of the file with the points of its scenario, without extension. Figures of one
    /// scenario share them.
    pub fn name_of_points(&self) -> Cow<'_, str> {
        let stem = Path::new(&self.scenario).file_stem().unwrap_or_default();
        stem.to_string_lossy()
    }
}

/// The name of the file of a study.
pub const STUDY_FILE: &str = "study.toml";

impl Study {
    /// Reads the study of a directory.
    pub fn load(directory: &Path) -> Result<Self, Problem> {
        let path = directory.join(STUDY_FILE);
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Problem::new(format!("cannot read the study {name}: {error}")))?;
        Self::parse(&name, &text)
    }

    /// Parses a study; `name` names the text in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let node = Node::parse(name, text)?;
        let study: Self = node.read()?;
        for (number, figure) in study.figures.iter().enumerate() {
            let locate = |text: String, key: &str| {
                let problem = Problem::new(text).inside(key).inside(number.to_string());
                node.locate(problem.inside("figure"))
            };
            let harmless = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if figure.name.is_empty() || !figure.name.chars().all(harmless) {
                let text = "this names files: letters, digits, `-` and `_` only";
                return Err(locate(text.to_owned(), "name"));
            }
            let named_alike = |other: &Figure| other.name_of_points() == figure.name;
            if figure.name_of_points() != figure.name && study.figures.iter().any(named_alike) {
                let text = format!("the points of scenario `{}` have this name", figure.name);
                return Err(locate(text, "name"));
            }
            if study.figures[..number]
                .iter()
                .any(|f| f.name == figure.name)
            {
                let text = format!("there is another figure `{}`", figure.name);
                return Err(locate(text, "name"));
            }
        }
        Ok(study)
    }
}

/// The studies in the directories below `directory`, by name.
pub fn all(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.join(STUDY_FILE).is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str =
        "title = 'T'\n[[figure]]\nname = 'a'\ntitle = 'A'\nscenario = 'a.toml'\nx = 'x'\ny = 'y'\n";

    #[test]
    fn a_study_is_read_and_its_mistakes_are_reported() {
        let study = Study::parse("study.toml", STUDY).unwrap();
        assert_eq!(study.figures[0].scenario, "a.toml");
        let error = |text: &str| Study::parse("study.toml", text).unwrap_err().to_string();
        let twice = format!("{STUDY}{}", &STUDY[STUDY.find('[').unwrap()..]);
        let second = "[[figure]]\nname = 'b'\ntitle = 'B'\nscenario = 'a.toml'\nx = 'x'\ny = 'y'\n";
        Study::parse("study.toml", &format!("{STUDY}{second}")).unwrap();
        // Its JSON would overwrite the points of the first one.
        let second = "[[figure]]\nname = 'b'\ntitle = 'B'\nscenario = 'c.toml'\nx = 'x'\ny = 'y'\n";
        let errors = [
            error(&STUDY.replace("'a'", "'../a'")),
            error(&twice),
            error(&format!("{}{second}", STUDY.replace("a.toml", "b.toml"))),
            error(&STUDY.replace("scenario", "scenarios")),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}
