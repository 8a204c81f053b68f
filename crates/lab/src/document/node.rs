//! A value and its parts.

use super::{Origin, Problem};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The origin.
    pub origin: Origin,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// Keys and their values.
pub type Table = BTreeMap<String, Entry>;

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The origin of the key.
    pub key: Origin,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Deserializes a Rust value from the node.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        T::deserialize(self)
    }

    /// The table in the node, if it is one.
    pub const fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The part at a dotted key; parts of lists are numbered from 0.
    pub fn get(&self, key: &str) -> Option<&Self> {
        key.split('.').try_fold(self, |at, part| match &at.value {
            Value::Table(table) => table.get(part).map(|entry| &entry.node),
            Value::List(list) => list.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Removes a key from the table in the node.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        match &mut self.value {
            Value::Table(table) => table.remove(key).map(|entry| entry.node),
            _ => None,
        }
    }

    /// Overlays another table on this one: tables are merged, all other values are replaced.
    pub fn merge(&mut self, over: Self) {
        match (&mut self.value, over) {
            (
                Value::Table(below),
                Self {
                    value: Value::Table(above),
                    ..
                },
            ) => {
                for (key, entry) in above {
                    match below.get_mut(&key) {
                        Some(present) => present.node.merge(entry.node),
                        None => drop(below.insert(key, entry)),
                    }
                }
            }
            (_, over) => *self = over,
        }
    }

    /// Sets the value at a dotted key, and makes missing tables.
    pub fn set(&mut self, key: &str, node: Self) -> Result<(), Problem> {
        let (part, rest) = match key.split_once('.') {
            Some((part, rest)) => (part, Some(rest)),
            None => (key, None),
        };
        let target = self.part(part, &node.origin)?;
        match rest {
            Some(rest) => target.set(rest, node).map_err(|p| p.inside(part)),
            None => {
                *target = node;
                Ok(())
            }
        }
    }

    /// The part with this name; a table without it gets an empty table.
    fn part(&mut self, name: &str, origin: &Origin) -> Result<&mut Self, Problem> {
        match &mut self.value {
            Value::Table(table) => {
                let entry = table.entry(name.to_owned()).or_insert_with(|| Entry {
                    key: origin.clone(),
                    node: Self::empty(origin.clone()),
                });
                Ok(&mut entry.node)
            }
            Value::List(list) => {
                let length = list.len();
                let number = name.parse().ok().filter(|n: &usize| *n < length);
                number.and_then(|n| list.get_mut(n)).ok_or_else(|| {
                    Problem::new(format!("the list has no part `{name}`"))
                        .suggest(format!("its {length} parts are numbered from 0"))
                        .inside(name)
                        .at(origin)
                })
            }
            _ => Err(Problem::new("this is no table").inside(name).at(origin)),
        }
    }

    /// A table without keys.
    pub const fn empty(origin: Origin) -> Self {
        Self {
            origin,
            value: Value::Table(Table::new()),
        }
    }

    /// The node as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Boolean(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Table(table) => {
                let parts = table.iter();
                let parts = parts.map(|(key, entry)| (key.clone(), entry.node.to_json()));
                serde_json::Value::Object(parts.collect())
            }
        }
    }

    /// Adds the origin to an error whose key is known.
    pub fn locate(&self, problem: Problem) -> Problem {
        let mut at = self;
        for part in &problem.key {
            match at.get(part) {
                Some(next) => at = next,
                None => break,
            }
        }
        problem.at(&at.origin)
    }
}
