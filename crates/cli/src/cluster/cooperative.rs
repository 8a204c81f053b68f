//! How `--cooperative` and the mount option of that name are written.

use bytesize::ByteSize;
use futago_node::{Cooperative, CooperativeChoice};

/// Reads `on`, `off` or `size=SIZE`.
///
/// # Errors
/// Other words, in words for people.
pub fn parse(text: &str) -> Result<CooperativeChoice, String> {
    let on = |cache_bytes| {
        CooperativeChoice::On(Cooperative {
            cache_bytes,
            ..Cooperative::default()
        })
    };
    match (text, text.strip_prefix("size=").map(str::parse)) {
        ("on", _) => Ok(CooperativeChoice::On(Cooperative::default())),
        ("off", _) => Ok(CooperativeChoice::Off),
        (_, Some(Ok(ByteSize(bytes)))) if bytes > 0 => Ok(on(bytes)),
        _ => Err("write on, off or size=SIZE, such as size=4GiB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_other_words_refused() {
        let of = |cache_bytes| {
            CooperativeChoice::On(Cooperative {
                cache_bytes,
                ..Cooperative::default()
            })
        };
        assert_eq!(parse("on"), Ok(of(1 << 30)));
        assert_eq!(parse("size=64MiB"), Ok(of(64 << 20)));
        assert_eq!(parse("off"), Ok(CooperativeChoice::Off));
        for wrong in ["", "yes", "size=", "size=0", "size=x", "64MiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
