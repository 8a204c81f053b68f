//! Which parameters are varied, and all combinations of their values.

use futago_lab::document::{Node, Origin, Problem, Value};

/// A value for a key.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub key: String,
    pub node: Node,
}

impl Assignment {
    pub fn parse(option: &str) -> Result<Self, Problem> {
        let (key, node) = Node::parse_option(option)?;
        Ok(Self { key, node })
    }

    /// Whether it says which machine the scenario's own keys are laid over.
    pub fn chooses_machine(&self) -> bool {
        matches!(
            self.key.as_str(),
            "machine" | "machine.preset" | "machine.file"
        )
    }

    /// Whether it changes what is varied.
    pub fn changes_sweep(&self) -> bool {
        self.key == "sweep" || self.key.starts_with("sweep.")
    }

    pub fn apply(&self, document: &mut Node) -> Result<(), Problem> {
        document.set(&self.key, self.node.clone())
    }
}

/// Parameters that change together: for each step, their values.
#[derive(Debug)]
pub(super) struct Axis {
    /// The key of the sweep that it comes from.
    key: Vec<String>,
    origin: Origin,
    /// Key and values, all of the same number.
    lists: Vec<(String, Vec<Node>)>,
}

impl Axis {
    fn steps(&self) -> usize {
        self.lists.first().map_or(0, |(_, values)| values.len())
    }
}

/// The swept values, without the keys that were set by hand.
pub(super) fn axes(sweep: Option<&Node>, set: &[Assignment]) -> Result<Vec<Axis>, Problem> {
    let Some(sweep) = sweep else {
        return Ok(Vec::new());
    };
    let mut axes = all_axes(sweep)?;
    for axis in &mut axes {
        axis.lists
            .retain(|(key, _)| set.iter().all(|set| set.key != *key));
    }
    axes.retain(|axis| !axis.lists.is_empty());
    Ok(axes)
}

/// A table `sweep` has one axis for each key. A list of tables `[[sweep]]` has one axis for each
/// table, whose keys change together.
fn all_axes(sweep: &Node) -> Result<Vec<Axis>, Problem> {
    let inside = |problem: Problem| problem.inside("sweep");
    if let Value::List(tables) = &sweep.value {
        let axes = tables.iter().enumerate();
        let axes = axes.map(|(number, table)| {
            zipped(number, table).map_err(|p| inside(p.inside(number.to_string())))
        });
        return axes.collect();
    }
    let lists = lists(sweep, "").map_err(inside)?;
    let axes = lists.into_iter().map(|(key, origin, values)| Axis {
        key: vec!["sweep".to_owned(), key.clone()],
        origin,
        lists: vec![(key, values)],
    });
    Ok(axes.collect())
}

fn zipped(number: usize, table: &Node) -> Result<Axis, Problem> {
    let lists = lists(table, "")?;
    if lists.is_empty() {
        return Err(Problem::new("this varies nothing").at(&table.origin));
    }
    let count = lists[0].2.len();
    if let Some((key, origin, other)) = lists.iter().find(|list| list.2.len() != count) {
        let text = format!(
            "keys that change together need as many values: {count} of `{}`, {} here",
            lists[0].0,
            other.len()
        );
        return Err(Problem::new(text).inside(key).at(origin));
    }
    Ok(Axis {
        key: vec!["sweep".to_owned(), number.to_string()],
        origin: table.origin.clone(),
        lists: lists
            .into_iter()
            .map(|(key, _, list)| (key, list))
            .collect(),
    })
}

type List = (String, Origin, Vec<Node>);

/// The lists of values below a table, with their keys; keys may be dotted, quoted or nested.
fn lists(table: &Node, above: &str) -> Result<Vec<List>, Problem> {
    let Some(entries) = table.table() else {
        return Err(Problem::new("this must be a table").at(&table.origin));
    };
    let mut found = Vec::new();
    for (key, entry) in entries {
        let whole = if above.is_empty() {
            key.clone()
        } else {
            format!("{above}.{key}")
        };
        let node = &entry.node;
        let inside = |problem: Problem| problem.inside(key);
        match &node.value {
            Value::List(values) if values.is_empty() => {
                return Err(inside(Problem::new("there is no value")).at(&node.origin));
            }
            Value::List(values) => found.push((whole, entry.key.clone(), values.clone())),
            Value::Table(part) if part.contains_key("from") => {
                let values = range(node).map_err(inside)?;
                found.push((whole, entry.key.clone(), values));
            }
            Value::Table(_) => found.extend(lists(node, &whole).map_err(inside)?),
            _ => {
                let problem = Problem::new("this must be a list of values");
                return Err(
                    inside(problem.suggest("or `{ from = …, to = …, step = … }`")).at(&node.origin),
                );
            }
        }
    }
    Ok(found)
}

/// Whole numbers from one to another.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: i64,
    to: i64,
    #[serde(default = "one")]
    step: i64,
}

const fn one() -> i64 {
    1
}

const RANGE_MAX: i64 = 1_000_000;

fn range(node: &Node) -> Result<Vec<Node>, Problem> {
    let Range { from, to, step } = node.read()?;
    let wrong = |text: String| Err(Problem::new(text).at(&node.origin));
    if step <= 0 || to < from {
        return wrong("`step` must be more than 0 and `to` not less than `from`".to_owned());
    }
    if to.saturating_sub(from) / step >= RANGE_MAX {
        return wrong(format!("this has more than {RANGE_MAX} values"));
    }
    let values = (from..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    Ok(values
        .map(|value| Node {
            origin: node.origin.clone(),
            value: Value::Integer(value),
        })
        .collect())
}

/// Refuses a sweep of more points than there may be, and names its longest axis.
pub(super) fn check_size(axes: &[Axis], seeds: usize, points_max: u64) -> Result<(), Problem> {
    let steps = axes.iter().map(|axis| axis.steps() as u64);
    let points = steps.fold(seeds as u64, u64::saturating_mul);
    if points <= points_max {
        return Ok(());
    }
    let text = format!("{points} points are more than `limits.points`, {points_max}");
    let problem = Problem::new(text).suggest("vary less, or set the limit higher");
    Err(match axes.iter().max_by_key(|axis| axis.steps()) {
        Some(axis) => {
            let keys = axis.key.iter().rev().cloned();
            keys.fold(problem, Problem::inside).at(&axis.origin)
        }
        None => problem.inside("seeds").inside("run"),
    })
}

/// Every combination of one step of each axis; the last axis varies fastest.
pub(super) fn combinations(axes: &[Axis]) -> Vec<Vec<Assignment>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let step = |chosen: &Vec<Assignment>, step: usize| {
            let mut longer = chosen.clone();
            longer.extend(axis.lists.iter().map(|(key, values)| Assignment {
                key: key.clone(),
                node: values[step].clone(),
            }));
            longer
        };
        all = all
            .iter()
            .flat_map(|chosen| (0..axis.steps()).map(move |number| step(chosen, number)))
            .collect();
    }
    all
}
