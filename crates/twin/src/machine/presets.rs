//! Machines that come with the program.

use futago_lab::document::{Node, Problem};

const PRESETS: [(&str, &str); 4] = [
    ("ppmds", include_str!("presets/ppmds.toml")),
    ("workstation", include_str!("presets/workstation.toml")),
    ("hpc", include_str!("presets/hpc.toml")),
    ("ideal", include_str!("presets/ideal.toml")),
];

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The text of a preset's file.
pub fn text(name: &str) -> Option<&'static str> {
    let preset = PRESETS.iter().find(|(known, _)| *known == name);
    preset.map(|(_, text)| *text)
}

/// A preset as a document.
pub fn document(name: &str) -> Result<Node, Problem> {
    match text(name) {
        Some(text) => Node::parse(&format!("preset {name}"), text),
        None => Err(Problem::unknown(
            "preset",
            name,
            &names().collect::<Vec<_>>(),
        )),
    }
}
