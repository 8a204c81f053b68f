//! Globs, with the meaning of POSIX `fnmatch` without flags in the C locale: a byte is a character,
//! and `*` also matches a dot at the beginning and a slash.
//!
//! The matcher is our own, because the known libraries add `**` and braces, or match text and not
//! bytes.

use serde::{Deserialize, Serialize};

/// Whether the case of ASCII letters counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Case {
    /// It does.
    Matters,
    /// It does not.
    Ignored,
}

impl Case {
    const fn fold(self, byte: u8) -> u8 {
        match self {
            Self::Matters => byte,
            Self::Ignored => byte.to_ascii_lowercase(),
        }
    }
}

/// Whether a name matches a glob. The time is at most the product of both lengths.
pub fn matches(glob: &[u8], name: &[u8], case: Case) -> bool {
    let (mut pattern, mut rest) = (glob, name);
    // The glob after the last star, and the rest of the name that the star has not taken yet.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some(after) = pattern.strip_prefix(b"*") {
            pattern = after;
            retry = Some((pattern, rest));
            continue;
        }
        match step(pattern, rest, case) {
            Step::End => return true,
            Step::On(after) => (pattern, rest) = (after, &rest[1..]),
            Step::Never => return false,
            Step::Differs => {
                let Some((after, [_, longer @ ..])) = retry else {
                    return false;
                };
                retry = Some((after, longer));
                (pattern, rest) = (after, longer);
            }
        }
    }
}

/// The answer of one element of a glob to the next byte of a name.
enum Step<'a> {
    /// Glob and name have ended together.
    End,
    /// It matches; the rest of the glob follows.
    On(&'a [u8]),
    /// It does not match.
    Differs,
    /// The glob matches nothing.
    Never,
}

fn step<'a>(pattern: &'a [u8], name: &[u8], case: Case) -> Step<'a> {
    let Some(&byte) = name.first() else {
        return if pattern.is_empty() {
            Step::End
        } else {
            Step::Differs
        };
    };
    let literal = |element: u8, after| match case.fold(element) == case.fold(byte) {
        true => Step::On(after),
        false => Step::Differs,
    };
    match pattern {
        [] => Step::Differs,
        [b'?', after @ ..] => Step::On(after),
        [b'\\'] => Step::Never,
        [b'\\', escaped, after @ ..] => literal(*escaped, after),
        [b'[', set @ ..] => match bracket(set, byte, case) {
            Some(Bracket { is_in: true, after }) => Step::On(after),
            Some(_) => Step::Differs,
            None => literal(b'[', set),
        },
        [element, after @ ..] => literal(*element, after),
    }
}

/// A bracket expression.
struct Bracket<'a> {
    /// Whether it matches the byte.
    is_in: bool,
    /// The rest of the glob.
    after: &'a [u8],
}

/// Reads a bracket expression after its `[`; `None` if nothing closes it, so that the `[` is an
/// ordinary character.
fn bracket(set: &[u8], byte: u8, case: Case) -> Option<Bracket<'_>> {
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
        let (holds, after) = member(rest, byte, case)?;
        rest = after;
        match holds {
            Some(holds) => is_in |= holds,
            None if is_in => {}
            None => return Some(Bracket { is_in, after }),
        }
    }
}

/// One member of a bracket expression: whether the byte is it, and what follows. No byte is of a
/// class that does not exist, and none of its complement.
fn member(rest: &[u8], byte: u8, case: Case) -> Option<(Option<bool>, &[u8])> {
    if let Some((class, after)) = named(rest, b':') {
        return Some((is_of_class(class, byte), after));
    }
    if let Some(([element], after)) = named(rest, b'=') {
        return Some((Some(case.fold(*element) == case.fold(byte)), after));
    }
    let (low, after) = end_point(rest)?;
    let (high, after) = match after {
        // No end of a range: the caller finds that nothing closes the symbol.
        [b'-', end @ ..] if begins_symbol(end) && named(end, b'.').is_none() => {
            return Some((None, end));
        }
        [b'-', end @ ..] if !end.starts_with(b"]") => end_point(end)?,
        _ => (low, after),
    };
    let holds = (case.fold(low)..=case.fold(high)).contains(&case.fold(byte));
    Some((Some(holds), after))
}

/// Whether the name of a character begins here, as in `[.a.]`. Nothing matches if it is not closed.
fn begins_symbol(rest: &[u8]) -> bool {
    rest.starts_with(b"[.")
}

/// The character that a range begins or ends with.
fn end_point(rest: &[u8]) -> Option<(u8, &[u8])> {
    if let Some(([element], after)) = named(rest, b'.') {
        return Some((*element, after));
    }
    match rest {
        [b'\\', element, after @ ..] | [element, after @ ..] => Some((*element, after)),
        [] => None,
    }
}

/// The text between `[` and a mark, and the same mark and `]`.
fn named(rest: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let inner = rest.strip_prefix(&[b'[', mark])?;
    let end = inner.windows(2).position(|pair| pair == [mark, b']'])?;
    Some((&inner[..end], &inner[end + 2..]))
}

/// Whether a byte is of a class; `None` if there is no such class.
fn is_of_class(class: &[u8], byte: u8) -> Option<bool> {
    Some(match class {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => matches!(byte, b' '..=b'~'),
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
