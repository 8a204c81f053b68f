//! From lines of JSON to nodes.

use super::{Entry, Node, Origin, Problem, Value};

impl Node {
    /// Reads a line of JSON from `origin`.
    pub fn parse_json(origin: &Origin, text: &str) -> Result<Self, Problem> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            let column = error.column();
            Problem::new(format!("this is no JSON from column {column} on")).at(origin)
        })?;
        of_json(origin, value)
    }
}

fn of_json(origin: &Origin, value: serde_json::Value) -> Result<Node, Problem> {
    let value = match value {
        serde_json::Value::Null => {
            return Err(Problem::new("`null` has no meaning here").at(origin));
        }
        serde_json::Value::Bool(value) => Value::Boolean(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(float)) if number.is_f64() => Value::Float(float),
            _ => return Err(Problem::new(format!("{number} cannot be represented")).at(origin)),
        },
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Array(list) => {
            let nodes = list.into_iter().map(|value| of_json(origin, value));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        serde_json::Value::Object(table) => {
            let entries = table.into_iter().map(|(name, value)| {
                let node = of_json(origin, value).map_err(|p| p.inside(name.as_str()))?;
                let key = origin.clone();
                Ok((name, Entry { key, node }))
            });
            Value::Table(entries.collect::<Result<_, _>>()?)
        }
    };
    let origin = origin.clone();
    Ok(Node { origin, value })
}
