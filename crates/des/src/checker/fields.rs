//! The state of a process as a list of named values.

use serde::Serialize;

use crate::digest::{Leaf, Sink, WalkError, walk};

/// Every leaf of a value: its path and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    leaves: Vec<(String, String)>,
    path: Vec<String>,
}

impl Fields {
    pub fn of<T: Serialize>(value: &T) -> Result<Fields, WalkError> {
        let mut fields = Fields::default();
        walk(value, &mut fields)?;
        Ok(fields)
    }

    /// The first difference: path, value here, value there.
    pub fn difference(&self, other: &Fields) -> Option<(String, String, String)> {
        let missing = (String::new(), "nothing".to_string());
        let length = self.leaves.len().max(other.leaves.len());
        (0..length).find_map(|index| {
            let mine = self.leaves.get(index).unwrap_or(&missing);
            let others = other.leaves.get(index).unwrap_or(&missing);
            let path = if mine.0.is_empty() {
                &others.0
            } else {
                &mine.0
            };
            (mine != others).then(|| (path.clone(), mine.1.clone(), others.1.clone()))
        })
    }

    /// All leaves in one line.
    pub fn line(&self) -> String {
        let named = self.leaves.iter().map(|(path, value)| match path.as_str() {
            "" => value.clone(),
            path => format!("{path}={value}"),
        });
        named.collect::<Vec<_>>().join(" ")
    }
}

impl Sink for Fields {
    fn leaf(&mut self, leaf: Leaf<'_>) {
        let value = match leaf {
            Leaf::Unit => "()".into(),
            Leaf::Unsigned(value) => value.to_string(),
            Leaf::Signed(value) => value.to_string(),
            Leaf::Float(value) => format!("{value:?}"),
            Leaf::Text(text) => format!("{text:?}"),
            Leaf::Bytes(bytes) => format!("{bytes:?}"),
            Leaf::Variant(_, name) => name.into(),
            Leaf::Length(length) => format!("{length} elements"),
        };
        self.leaves.push((self.path.join("."), value));
    }

    fn enter_field(&mut self, name: &'static str) {
        self.path.push(name.into());
    }

    fn enter_index(&mut self, index: usize) {
        self.path.push(index.to_string());
    }

    fn leave(&mut self) {
        self.path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named_by_its_path() {
        #[derive(Serialize)]
        struct State {
            name: &'static str,
            queue: Vec<(u32, Option<u32>)>,
        }
        let of = |last| {
            let state = State {
                name: "a",
                queue: vec![(1, None), (2, last)],
            };
            Fields::of(&state).expect("serializable")
        };
        assert_eq!(of(Some(3)).difference(&of(Some(3))), None);
        let found = of(Some(3)).difference(&of(Some(4)));
        assert_eq!(found, Some(("queue.1.1".into(), "3".into(), "4".into())));
    }
}
