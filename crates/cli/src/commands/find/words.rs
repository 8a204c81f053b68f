//! The words of `futago find`: its long options may have one dash, as those of GNU find.

use std::ffi::OsString;

/// Options with a value.
const WITH_VALUE: [&str; 11] = [
    "name",
    "iname",
    "size",
    "newer",
    "mtime",
    "type",
    "user",
    "maxdepth",
    "mindepth",
    "cluster",
    "log-format",
];
/// Options without one.
const ALONE: [&str; 3] = ["count", "print0", "json"];

/// The words of a command line, with two dashes where `find` allows one.
pub fn with_two_dashes(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.into_iter().collect();
    if !is_find(&words) {
        return words;
    }
    let (mut is_value, mut are_options) = (false, true);
    let words = words.into_iter().map(|word| {
        let name = word.to_str().and_then(|text| text.strip_prefix('-'));
        let name = name.filter(|_| are_options && !is_value);
        is_value = name.is_some_and(takes_value);
        are_options &= name != Some("-");
        match name.filter(|name| WITH_VALUE.contains(name) || ALONE.contains(name)) {
            Some(name) => OsString::from(format!("--{name}")),
            None => word,
        }
    });
    words.collect()
}

fn takes_value(name: &str) -> bool {
    WITH_VALUE.contains(&name.trim_start_matches('-'))
}

/// Whether the subcommand is `find`.
fn is_find(words: &[OsString]) -> bool {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--log-format" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return word == "find";
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> String {
        let words = with_two_dashes(line.split(' ').map(OsString::from));
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn one_dash_becomes_two_where_options_are() {
        assert_eq!(
            changed("futago find /a -name -count -size -1k -count"),
            "futago find /a --name -count --size -1k --count"
        );
        assert_eq!(
            changed("futago --log-format json find --name -type -type f -- -name"),
            "futago --log-format json find --name -type --type f -- -name"
        );
        assert_eq!(
            changed("futago find -h -x -user 0"),
            "futago find -h -x --user 0"
        );
    }

    #[test]
    fn other_commands_stay() {
        for line in ["futago ls -name", "futago", "futago cat find -name"] {
            assert_eq!(changed(line), line);
        }
    }
}
