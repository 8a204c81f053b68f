//! From TOML to nodes.

use super::{Entry, Node, Origin, Problem, Value};
use std::{ops::Range, sync::Arc};
use toml::{Spanned, de::DeTable, de::DeValue};

impl Node {
    /// Parses a TOML text; `name` names it in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let source = Source {
            name: name.into(),
            text,
        };
        match DeTable::parse(text) {
            Ok(table) => source.table(table.span(), table.into_inner()),
            Err(error) => {
                let origin = source.origin(&error.span().unwrap_or(0..0));
                Err(Problem::new(error.message()).at(&origin))
            }
        }
    }

    /// Parses an option `KEY=VALUE` into the dotted key and the value. A value that is no TOML is a
    /// text.
    pub fn parse_option(option: &str) -> Result<(String, Self), Problem> {
        let origin = Origin::Option(option.into());
        let Some((key, text)) = option.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let problem = Problem::new("this is not of the form KEY=VALUE");
            return Err(problem.at(&origin));
        };
        let key = key.trim().replace(['[', ']'], ".");
        let key = key.trim_matches('.').replace("..", ".");
        let value = match DeValue::parse(text.trim()) {
            Ok(value) => {
                Source {
                    name: "".into(),
                    text,
                }
                .value(value)?
                .value
            }
            Err(_) => Value::Text(text.trim().to_owned()),
        };
        let mut node = Self { origin, value };
        node.come_from(&node.origin.clone());
        Ok((key, node))
    }

    /// Sets the origin of the node and all its parts.
    fn come_from(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.come_from(origin)),
            Value::Table(table) => {
                for entry in table.values_mut() {
                    entry.key = origin.clone();
                    entry.node.come_from(origin);
                }
            }
            _ => {}
        }
    }
}

struct Source<'a> {
    name: Arc<str>,
    text: &'a str,
}

impl Source<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        let before = self.text.as_bytes().iter().take(span.start);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        Origin::File(self.name.clone(), line)
    }

    fn table(&self, span: Range<usize>, table: DeTable<'_>) -> Result<Node, Problem> {
        let entries = table.into_iter().map(|(key, value)| {
            let origin = self.origin(&key.span());
            let name = key.into_inner().into_owned();
            let node = self.value(value).map_err(|p| p.inside(name.as_str()))?;
            Ok((name, Entry { key: origin, node }))
        });
        Ok(Node {
            origin: self.origin(&span),
            value: Value::Table(entries.collect::<Result<_, _>>()?),
        })
    }

    fn value(&self, value: Spanned<DeValue<'_>>) -> Result<Node, Problem> {
        let span = value.span();
        let origin = self.origin(&span);
        let too_large = || Problem::new("this number cannot be represented").at(&origin);
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Integer(digits) => {
                let value = i64::from_str_radix(digits.as_str(), digits.radix());
                Value::Integer(value.map_err(|_| too_large())?)
            }
            DeValue::Float(digits) => {
                Value::Float(digits.as_str().parse().map_err(|_| too_large())?)
            }
            DeValue::Datetime(_) => {
                return Err(Problem::new("a date has no meaning here").at(&origin));
            }
            DeValue::Array(list) => {
                let nodes = list.into_iter().enumerate();
                let nodes = nodes.map(|(number, node)| {
                    self.value(node).map_err(|p| p.inside(number.to_string()))
                });
                Value::List(nodes.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => return self.table(span, table),
        };
        Ok(Node { origin, value })
    }
}
