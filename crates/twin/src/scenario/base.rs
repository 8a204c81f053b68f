//! The machine that a scenario starts from: a preset or a file.

use crate::machine::presets;
use futago_lab::document::{Node, Problem, Value};
use std::path::Path;

/// Replaces the keys `preset` and `file` of a scenario's machine by what they name; the machine's
/// other keys are laid over it.
pub(super) fn lay_under(document: &mut Node, directory: &Path) -> Result<(), Problem> {
    let Some(mut machine) = document.take("machine") else {
        let problem = Problem::new("the scenario names no machine").inside("machine");
        let presets: Vec<_> = presets::names().collect();
        let suggestion = format!("say `machine.preset = …`, one of {}", presets.join(", "));
        return Err(problem.suggest(suggestion));
    };
    let (preset, file) = (machine.take("preset"), machine.take("file"));
    let base = match (&preset, &file) {
        (Some(_), Some(file)) => {
            let problem = Problem::new("a machine is a preset or a file, not both");
            return Err(problem.at(&file.origin).inside("file").inside("machine"));
        }
        (Some(preset), None) => Some(named(preset, "preset", presets::document)?),
        (None, Some(file)) => Some(named(file, "file", |name| read(&directory.join(name)))?),
        (None, None) => None,
    };
    let origin = machine.origin.clone();
    let whole = match base {
        Some(mut base) => {
            base.merge(machine);
            base
        }
        None => machine,
    };
    document.set("machine", Node { origin, ..whole })
}

fn named(
    node: &Node,
    key: &str,
    find: impl Fn(&str) -> Result<Node, Problem>,
) -> Result<Node, Problem> {
    let found = match &node.value {
        Value::Text(name) => find(name),
        _ => Err(Problem::new("this must be a text")),
    };
    found.map_err(|problem| match problem.origin {
        Some(_) => problem,
        None => problem.at(&node.origin).inside(key).inside("machine"),
    })
}

fn read(path: &Path) -> Result<Node, Problem> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("cannot read the machine {name}: {error}")))?;
    Node::parse(&name, &text)
}
