//! Names as texts. Bytes that are not UTF-8, and `%`, are written as `%` and two hexadecimal
//! digits, as in URLs. For `#[serde(with = …)]`.

use data_encoding::HEXUPPER_PERMISSIVE as HEX;
use futago_base::Name;
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::borrow::Cow;

pub fn serialize<S: Serializer>(name: &Name, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(name.as_bytes()))
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    let bytes = decode(&text).ok_or_else(|| {
        D::Error::custom(format!("`{text}`: two hexadecimal digits follow each `%`"))
    })?;
    Name::new(bytes).map_err(|error| D::Error::custom(format!("no entry can be `{text}`: {error}")))
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push('%');
            HEX.encode_append(&[*byte], &mut text);
        }
    }
    text
}

/// The bytes of a text; `None` if a `%` has no two digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.as_bytes().split(|byte| *byte == b'%');
    let mut bytes = parts.next()?.to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.extend(HEX.decode(digits).ok()?);
        bytes.extend(rest);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn only_what_is_no_text_is_changed() {
        assert_eq!(encode("Grüße 1.txt".as_bytes()), "Grüße 1.txt");
        assert_eq!(encode(b"100%\xff"), "100%25%FF");
        assert_eq!(decode("%2"), None);
        assert_eq!(decode("%zz"), None);
    }
}
