//! Globs, with the meaning of POSIX `fnmatch` without flags in the locale `C.UTF-8`: `*` also
//! matches a dot at the beginning and a slash. If the glob or the name is not UTF-8, each byte of
//! both is a character, as for the C library. That of GNU also compares bytes where the characters
//! do not match; this does not.
//!
//! The matcher is our own, because the known libraries add `**` and braces, or match text and not
//! bytes.

use serde::{Deserialize, Serialize};

/// Whether the case of letters counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Case {
    /// It does.
    Matters,
    /// It does not.
    Ignored,
}

/// The characters of a glob and a name.
#[derive(Clone, Copy)]
enum Encoding {
    /// Those of UTF-8.
    Utf8,
    /// Bytes; the characters from U+0000 to U+00FF stand for them.
    Bytes,
}

impl Encoding {
    fn of(glob: &[u8], name: &[u8]) -> Self {
        match str::from_utf8(glob).is_ok() && str::from_utf8(name).is_ok() {
            true => Self::Utf8,
            false => Self::Bytes,
        }
    }

    /// The first character of a text, and the rest.
    fn split(self, text: &[u8]) -> Option<(char, &[u8])> {
        let &first = text.first()?;
        let length = match (self, first) {
            (Self::Bytes, _) | (_, ..0xc0) => 1,
            (_, ..0xe0) => 2,
            (_, ..0xf0) => 3,
            _ => 4,
        };
        let (character, rest) = text.split_at_checked(length)?;
        let character = match length {
            1 => Some(char::from(first)),
            _ => str::from_utf8(character).ok()?.chars().next(),
        };
        Some((character?, rest))
    }
}

/// The comparison of characters.
#[derive(Clone, Copy)]
struct Rules {
    encoding: Encoding,
    case: Case,
}

impl Rules {
    /// A character without its case, if that does not count.
    fn fold(self, character: char) -> char {
        match (self.case, self.encoding) {
            (Case::Matters, _) => character,
            (Case::Ignored, Encoding::Bytes) => character.to_ascii_lowercase(),
            (Case::Ignored, Encoding::Utf8) => {
                let mut lower = character.to_lowercase();
                let first = lower.next().unwrap_or(character);
                // A lower case of several characters is none for the C library.
                lower.next().map_or(first, |_| character)
            }
        }
    }

    fn are_equal(self, a: char, b: char) -> bool {
        self.fold(a) == self.fold(b)
    }

    /// The only character of a text.
    fn only(self, text: &[u8]) -> Option<char> {
        let (character, rest) = self.encoding.split(text)?;
        rest.is_empty().then_some(character)
    }
}

/// Whether a name matches a glob. The time is at most the product of both lengths.
pub fn matches(glob: &[u8], name: &[u8], case: Case) -> bool {
    let encoding = Encoding::of(glob, name);
    let rules = Rules { encoding, case };
    let (mut pattern, mut rest) = (glob, name);
    // The glob after the last star, and the rest of the name that the star has not taken yet.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some(after) = pattern.strip_prefix(b"*") {
            pattern = after;
            retry = Some((pattern, rest));
            continue;
        }
        match step(pattern, rest, rules) {
            Step::End => return true,
            Step::On {
                pattern: after,
                name,
            } => (pattern, rest) = (after, name),
            Step::Never => return false,
            Step::Differs => {
                retry = retry.and_then(|(after, name)| Some((after, encoding.split(name)?.1)));
                let Some(again) = retry else {
                    return false;
                };
                (pattern, rest) = again;
            }
        }
    }
}

/// The answer of one element of a glob to the next character of a name.
enum Step<'a> {
    /// Glob and name have ended together.
    End,
    /// It matches; these rests follow.
    On { pattern: &'a [u8], name: &'a [u8] },
    /// It does not match.
    Differs,
    /// The glob matches nothing.
    Never,
}

fn step<'a>(pattern: &'a [u8], name: &'a [u8], rules: Rules) -> Step<'a> {
    let Some((character, name)) = rules.encoding.split(name) else {
        return match pattern {
            [] => Step::End,
            _ => Step::Differs,
        };
    };
    let on = |is_match, pattern| match is_match {
        true => Step::On { pattern, name },
        false => Step::Differs,
    };
    let literal = |pattern| match rules.encoding.split(pattern) {
        Some((element, after)) => on(rules.are_equal(element, character), after),
        None => Step::Differs,
    };
    match pattern {
        [b'?', after @ ..] => on(true, after),
        [b'\\'] => Step::Never,
        [b'\\', escaped @ ..] => literal(escaped),
        [b'[', set @ ..] => match bracket(set, character, rules) {
            Some(Bracket { is_in, after }) => on(is_in, after),
            None => literal(pattern),
        },
        _ => literal(pattern),
    }
}

/// A bracket expression.
struct Bracket<'a> {
    /// Whether it matches the character.
    is_in: bool,
    /// The rest of the glob.
    after: &'a [u8],
}

/// Reads a bracket expression after its `[`; `None` if nothing closes it, so that the `[` is an
/// ordinary character.
fn bracket(set: &[u8], character: char, rules: Rules) -> Option<Bracket<'_>> {
    let (is_negated, mut rest) = match set {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut is_in, mut is_first) = (false, true);
    loop {
        if let [b']', after @ ..] = rest
            && !is_first
        {
            let is_in = is_in != is_negated;
            return Some(Bracket { is_in, after });
        }
        is_first = false;
        if begins_symbol(rest) && named(rest, b'.').is_none() {
            let is_in = false;
            return Some(Bracket { is_in, after: rest });
        }
        let (holds, after) = member(rest, character, rules)?;
        rest = after;
        match holds {
            Some(holds) => is_in |= holds,
            None if is_in => {}
            None => return Some(Bracket { is_in, after }),
        }
    }
}

/// One member of a bracket expression: whether the character is it, and what follows. No character
/// is of a class that does not exist, and none of its complement.
fn member(rest: &[u8], character: char, rules: Rules) -> Option<(Option<bool>, &[u8])> {
    if let Some((class, after)) = named(rest, b':') {
        return Some((is_of_class(class, character, rules.encoding), after));
    }
    if let Some((class, after)) = named(rest, b'=')
        && let Some(element) = rules.only(class)
    {
        return Some((Some(rules.are_equal(element, character)), after));
    }
    let (low, after) = end_point(rest, rules)?;
    let (high, after) = match after {
        // No end of a range: the caller finds that nothing closes the symbol.
        [b'-', end @ ..] if begins_symbol(end) && named(end, b'.').is_none() => {
            return Some((None, end));
        }
        [b'-', end @ ..] if !end.starts_with(b"]") => end_point(end, rules)?,
        _ => (low, after),
    };
    let range = rules.fold(low)..=rules.fold(high);
    let holds = range.contains(&rules.fold(character));
    Some((Some(holds), after))
}

/// Whether the name of a character begins here, as in `[.a.]`. Nothing matches if it is not closed.
fn begins_symbol(rest: &[u8]) -> bool {
    rest.starts_with(b"[.")
}

/// The character that a range begins or ends with.
fn end_point(rest: &[u8], rules: Rules) -> Option<(char, &[u8])> {
    if let Some((name, after)) = named(rest, b'.')
        && let Some(element) = rules.only(name)
    {
        return Some((element, after));
    }
    match rest {
        [b'\\', escaped @ ..] if !escaped.is_empty() => rules.encoding.split(escaped),
        _ => rules.encoding.split(rest),
    }
}

/// The text between `[` and a mark, and the same mark and `]`.
fn named(rest: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let inner = rest.strip_prefix(&[b'[', mark])?;
    let end = inner.windows(2).position(|pair| pair == [mark, b']'])?;
    Some((&inner[..end], &inner[end + 2..]))
}

/// Whether a character is of a class; `None` if there is no such class.
fn is_of_class(class: &[u8], character: char, encoding: Encoding) -> Option<bool> {
    match encoding {
        Encoding::Utf8 if !character.is_ascii() => is_of_wide_class(class, character),
        _ => is_of_ascii_class(class, character),
    }
}

fn is_of_ascii_class(class: &[u8], character: char) -> Option<bool> {
    Some(match class {
        b"alnum" => character.is_ascii_alphanumeric(),
        b"alpha" => character.is_ascii_alphabetic(),
        b"blank" => matches!(character, ' ' | '\t'),
        b"cntrl" => character.is_ascii_control(),
        b"digit" => character.is_ascii_digit(),
        b"graph" => character.is_ascii_graphic(),
        b"lower" => character.is_ascii_lowercase(),
        b"print" => matches!(character, ' '..='~'),
        b"punct" => character.is_ascii_punctuation(),
        b"space" => character.is_ascii_whitespace() || character == '\x0b',
        b"upper" => character.is_ascii_uppercase(),
        b"xdigit" => character.is_ascii_hexdigit(),
        _ => return None,
    })
}

/// The same for characters beyond ASCII, as Unicode counts them.
fn is_of_wide_class(class: &[u8], character: char) -> Option<bool> {
    let is_visible = !character.is_control() && !character.is_whitespace();
    Some(match class {
        b"alnum" => character.is_alphanumeric(),
        b"alpha" => character.is_alphabetic(),
        b"cntrl" => character.is_control(),
        b"graph" => is_visible,
        b"lower" => character.is_lowercase(),
        b"print" => !character.is_control(),
        b"punct" => is_visible && !character.is_alphanumeric(),
        b"blank" | b"space" => character.is_whitespace(),
        b"upper" => character.is_uppercase(),
        b"digit" | b"xdigit" => false,
        _ => return None,
    })
}
