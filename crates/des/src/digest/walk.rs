//! A serde serializer that visits the leaves of a value without encoding them.

use std::fmt;

use serde::ser::{self, Serialize};

/// One number, text or marker in a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leaf<'a> {
    Unit,
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Variant(u32, &'static str),
    Length(usize),
}

/// The receiver of a walk.
pub(crate) trait Sink {
    fn leaf(&mut self, leaf: Leaf<'_>);
    #[inline]
    fn enter_field(&mut self, _name: &'static str) {}
    #[inline]
    fn enter_index(&mut self, _index: usize) {}
    #[inline]
    fn leave(&mut self) {}
}

/// A `Serialize` implementation failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WalkError(String);

impl ser::Error for WalkError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        WalkError(message.to_string())
    }
}

/// Reports every leaf of `value`, in the order of its `Serialize` implementation.
#[inline]
pub(crate) fn walk<T: Serialize + ?Sized, S: Sink>(
    value: &T,
    sink: &mut S,
) -> Result<(), WalkError> {
    value.serialize(Walker {
        sink,
        next_index: 0,
    })
}

struct Walker<'a, S> {
    sink: &'a mut S,
    next_index: usize,
}

impl<'a, S: Sink> Walker<'a, S> {
    #[inline]
    fn leaf(self, leaf: Leaf<'_>) -> Result<(), WalkError> {
        self.sink.leaf(leaf);
        Ok(())
    }

    #[inline]
    fn sequence(self, length: Option<usize>) -> Result<Self, WalkError> {
        if let Some(length) = length {
            self.sink.leaf(Leaf::Length(length));
        }
        Ok(self)
    }

    #[inline]
    fn variant(self, index: u32, name: &'static str) -> Self {
        self.sink.leaf(Leaf::Variant(index, name));
        self
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WalkError> {
        self.sink.enter_field(name);
        walk(value, self.sink)?;
        self.sink.leave();
        Ok(())
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        self.sink.enter_index(self.next_index);
        self.next_index += 1;
        walk(value, self.sink)?;
        self.sink.leave();
        Ok(())
    }
}

macro_rules! leaves {
    ($($method:ident: $type:ty => $leaf:ident as $wide:ty;)*) => {
        $(#[inline]
        fn $method(self, value: $type) -> Result<(), WalkError> {
            self.leaf(Leaf::$leaf(value as $wide))
        })*
    };
}

impl<'a, S: Sink> ser::Serializer for Walker<'a, S> {
    type Ok = ();
    type Error = WalkError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    leaves! {
        serialize_bool: bool => Unsigned as u64;
        serialize_u8: u8 => Unsigned as u64;
        serialize_u16: u16 => Unsigned as u64;
        serialize_u32: u32 => Unsigned as u64;
        serialize_u64: u64 => Unsigned as u64;
        serialize_i8: i8 => Signed as i64;
        serialize_i16: i16 => Signed as i64;
        serialize_i32: i32 => Signed as i64;
        serialize_i64: i64 => Signed as i64;
        serialize_f32: f32 => Float as f64;
        serialize_f64: f64 => Float as f64;
        serialize_char: char => Unsigned as u64;
    }

    fn serialize_i128(self, value: i128) -> Result<(), WalkError> {
        self.serialize_u128(value as u128)
    }

    fn serialize_u128(self, value: u128) -> Result<(), WalkError> {
        self.sink.leaf(Leaf::Unsigned((value >> 64) as u64));
        self.leaf(Leaf::Unsigned(value as u64))
    }

    fn serialize_str(self, value: &str) -> Result<(), WalkError> {
        self.leaf(Leaf::Text(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), WalkError> {
        self.leaf(Leaf::Bytes(value))
    }

    #[inline]
    fn serialize_none(self) -> Result<(), WalkError> {
        self.leaf(Leaf::Variant(0, "None"))
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WalkError> {
        walk(value, self.variant(1, "Some").sink)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), WalkError> {
        self.leaf(Leaf::Unit)
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), WalkError> {
        self.leaf(Leaf::Unit)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<(), WalkError> {
        self.leaf(Leaf::Variant(index, variant))
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), WalkError> {
        walk(value, self.sink)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WalkError> {
        self.variant(index, variant).field(variant, value)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, WalkError> {
        self.sequence(length)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Self, WalkError> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, WalkError> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, WalkError> {
        Ok(self.variant(index, variant))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, WalkError> {
        self.sequence(length)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, WalkError> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, WalkError> {
        Ok(self.variant(index, variant))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! compound {
    ($($trait:ident::$method:ident;)*) => {
        $(impl<S: Sink> ser::$trait for Walker<'_, S> {
            type Ok = ();
            type Error = WalkError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), WalkError> {
                Ok(())
            }
        })*
    };
}

compound! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

impl<S: Sink> ser::SerializeMap for Walker<'_, S> {
    type Ok = ();
    type Error = WalkError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WalkError> {
        self.element(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        self.element(value)
    }

    fn end(self) -> Result<(), WalkError> {
        Ok(())
    }
}

macro_rules! record {
    ($($trait:ident)*) => {
        $(impl<S: Sink> ser::$trait for Walker<'_, S> {
            type Ok = ();
            type Error = WalkError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), WalkError> {
                self.field(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), WalkError> {
                Ok(())
            }
        })*
    };
}

record! { SerializeStruct SerializeStructVariant }
