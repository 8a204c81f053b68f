//! A cursor over a request's body; every step is bounds-checked.

use super::ParseError;
use bytes::{Buf, Bytes};
use zerocopy::{FromBytes, Immutable, KnownLayout};

pub(super) struct Body {
    opcode: u32,
    rest: Bytes,
}

impl Body {
    pub(super) fn new(opcode: u32, rest: Bytes) -> Self {
        Self { opcode, rest }
    }

    /// The next fixed-size record.
    pub(super) fn record<T>(&mut self, what: &'static str) -> Result<T, ParseError>
    where
        T: FromBytes + KnownLayout + Immutable,
    {
        let (record, _) = T::read_from_prefix(&self.rest).map_err(|_| self.truncated(what))?;
        self.rest.advance(size_of::<T>());
        Ok(record)
    }

    /// The next NUL-terminated name: any bytes but NUL.
    pub(super) fn name(&mut self) -> Result<Bytes, ParseError> {
        let nul = self.rest.iter().position(|&byte| byte == 0);
        let end = nul.ok_or_else(|| self.truncated("name"))?;
        let name = self.rest.split_to(end);
        self.rest.advance(1);
        Ok(name)
    }

    /// The next `size` bytes, sharing the request's memory.
    pub(super) fn payload(&mut self, size: u32) -> Result<Bytes, ParseError> {
        let size = size as usize;
        if size > self.rest.len() {
            return Err(self.truncated("payload"));
        }
        Ok(self.rest.split_to(size))
    }

    fn truncated(&self, what: &'static str) -> ParseError {
        ParseError::Truncated {
            opcode: self.opcode,
            what,
        }
    }
}
