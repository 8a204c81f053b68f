//! From nodes to Rust values.

use super::{Entry, Node, Origin, Problem, Value};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
        Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use std::{collections::btree_map, iter::Enumerate, slice};

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let visited = match &self.value {
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::List(list) => visitor.visit_seq(Items(list.iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries {
                rest: table.iter(),
                value: None,
            }),
        };
        visited.map_err(|problem| problem.at(&self.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let visited = visitor.visit_newtype_struct(self);
        visited.map_err(|problem| problem.at(&self.origin))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let visited = match &self.value {
            Value::Text(word) => {
                let word: StrDeserializer<'_, Problem> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Value::Table(table) if table.len() == 1 => match table.iter().next() {
                Some((key, entry)) => visitor.visit_enum(Variant { key, entry }),
                None => Err(one_of(variants)),
            },
            Value::Table(table) if table.len() > 1 => {
                let keys: Vec<&str> = table.keys().map(String::as_str).collect();
                let both = format!("only one of `{}` can hold", keys.join("` and `"));
                Err(Problem::new(both).suggest("give all of it a new value, as with --set"))
            }
            _ => Err(one_of(variants)),
        };
        visited.map_err(|problem| problem.at(&self.origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn one_of(variants: &[&str]) -> Problem {
    let all: Vec<String> = variants.iter().map(|name| format!("`{name}`")).collect();
    Problem::new(format!("this must be one of {}", all.join(", ")))
}

struct Items<'de>(Enumerate<slice::Iter<'de, Node>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let next = self.0.next().map(|(number, node)| {
            let value = seed.deserialize(node);
            value.map_err(|problem| problem.at(&node.origin).inside(number.to_string()))
        });
        next.transpose()
    }
}

struct Entries<'de> {
    rest: btree_map::Iter<'de, String, Entry>,
    value: Option<(&'de String, &'de Node)>,
}

/// Reads a key. An error in the key has the origin of the key.
fn read_key<'de, K: DeserializeSeed<'de>>(
    key: &'de str,
    origin: &Origin,
    seed: K,
) -> Result<K::Value, Problem> {
    let name: StrDeserializer<'_, Problem> = key.into_deserializer();
    seed.deserialize(name).map_err(|problem| problem.at(origin))
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let Some((key, entry)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some((key, &entry.node));
        read_key(key, &entry.key, seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some((key, node)) = self.value.take() else {
            return Err(Problem::new("a value was asked for before its key"));
        };
        let value = seed.deserialize(node);
        value.map_err(|problem| problem.at(&node.origin).inside(key.as_str()))
    }
}

struct Variant<'de> {
    key: &'de str,
    entry: &'de Entry,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Problem> {
        Ok((read_key(self.key, &self.entry.key, seed)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        let problem = Problem::new(format!("`{}` stands alone, without a value", self.key));
        Err(problem.at(&self.entry.key))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        let value = seed.deserialize(&self.entry.node);
        value.map_err(|problem| problem.at(&self.entry.node.origin).inside(self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Problem> {
        self.entry
            .node
            .deserialize_any(visitor)
            .map_err(|problem| problem.inside(self.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.tuple_variant(0, visitor)
    }
}
