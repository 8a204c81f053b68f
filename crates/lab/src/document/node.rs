//! A value and its parts.

use super::{Origin, Problem};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// A value with the place that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The place.
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

/// Keys and what they have.
pub type Table = BTreeMap<String, Entry>;

/// What a key has.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where the key is.
    pub key: Origin,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// Makes a Rust value of it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        T::deserialize(self)
    }

    /// The table that it is.
    pub const fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The part that a dotted key leads to; parts of lists are numbered from 0.
    pub fn get(&self, key: &str) -> Option<&Self> {
        key.split('.').try_fold(self, |at, part| match &at.value {
            Value::Table(table) => table.get(part).map(|entry| &entry.node),
            Value::List(list) => list.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Takes a key out of the table that it is.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        match &mut self.value {
            Value::Table(table) => table.remove(key).map(|entry| entry.node),
            _ => None,
        }
    }

    /// Lays another table over this one: tables are merged, everything else is replaced.
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
                        Some(kept) => kept.node.merge(entry.node),
                        None => drop(below.insert(key, entry)),
                    }
                }
            }
            (_, over) => *self = over,
        }
    }

    /// Puts a value where a dotted key leads to, with the tables on the way.
    pub fn set(&mut self, key: &str, node: Self) -> Result<(), Problem> {
        let (part, rest) = match key.split_once('.') {
            Some((part, rest)) => (part, Some(rest)),
            None => (key, None),
        };
        let place = self.part(part, &node.origin)?;
        match rest {
            Some(rest) => place.set(rest, node).map_err(|p| p.inside(part)),
            None => {
                *place = node;
                Ok(())
            }
        }
    }

    /// The part of this name, made as an empty table if a table lacks it.
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

    /// It as JSON.
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

    /// Says where a mistake is whose key is known.
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
