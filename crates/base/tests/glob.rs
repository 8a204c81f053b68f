//! Globs of a search match what `fnmatch` of the C library matches in the locale `C.UTF-8`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::search::{Case, matches};
use proptest::{prelude::*, test_runner::RngSeed};
use std::ffi::{CStr, CString};

fn fnmatch(locale: &CStr, glob: &[u8], name: &[u8], case: Case) -> bool {
    // SAFETY: the name is a string, and one test of this program alone calls this.
    let locale = unsafe { libc::setlocale(libc::LC_ALL, locale.as_ptr()) };
    assert!(!locale.is_null(), "the C library has the locale");
    let flags = match case {
        Case::Matters => 0,
        Case::Ignored => 1 << 4, // FNM_CASEFOLD of glibc and musl
    };
    let text = |bytes| CString::new(bytes).expect("no NUL");
    let (glob, name) = (text(glob), text(name));
    // SAFETY: both are strings that end with NUL and live until the call returns.
    let found = unsafe { libc::fnmatch(glob.as_ptr(), name.as_ptr(), flags) };
    found == 0
}

/// Whether the C library allows this answer. In UTF-8 it also compares bytes if the characters do
/// not match, so its answer is the characters' alone only where that of bytes is no.
fn is_right(answer: bool, glob: &[u8], name: &[u8], case: Case) -> bool {
    let bytes = fnmatch(c"C", glob, name, case);
    let either = fnmatch(c"C.UTF-8", glob, name, case);
    let is_text = str::from_utf8(glob).is_ok() && str::from_utf8(name).is_ok();
    match (is_text, glob.is_ascii() && name.is_ascii()) {
        (true, false) if bytes => !answer || either,
        (true, false) => answer == either,
        _ => answer == bytes,
    }
}

/// Pieces of globs: everything that has a meaning in one, and some letters.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"a",
        b"b",
        b"B",
        b"-",
        b".",
        b"]",
        b"[",
        b"!",
        b"^",
        b"\\",
        b"*",
        b"?",
        b":",
        b"[a",
        b"[!",
        b"[^",
        b"a-c]",
        b"[]",
        b"[:alpha:]",
        b"[[:upper:]",
        b"[[:space:]]",
        b"[:digit:]",
        b"\\a",
        b"\\]",
        b"\\*",
        b"\xff",
        b"[\xf0-\xff]",
        b"Z-",
        b"[--/]",
        b"[[:no:]]",
        "\u{e9}".as_bytes(),
        "[\u{e9}".as_bytes(),
        "[!\u{20ac}]".as_bytes(),
        "[\u{e0}-\u{ef}]".as_bytes(),
        "[[=\u{e9}=]]".as_bytes(),
        "\\\u{e9}".as_bytes(),
        b"\xa9",
    ];
    proptest::sample::select(pieces.to_vec()).prop_map(<[u8]>::to_vec)
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let bytes = b"aabbBcZ-.][!^\\*?: 5\n".map(|byte| vec![byte]);
    let wide = ["\u{e9}", "\u{c9}", "\u{20ac}", "\u{1f600}"].map(|text| text.as_bytes().to_vec());
    // A name that is not UTF-8 makes bytes of all its characters, so few are.
    let broken = [&b"\xff"[..], b"\xf3", b"\xc3", b"\xa9"].map(<[u8]>::to_vec);
    let piece = prop_oneof![
        12 => proptest::sample::select(bytes.to_vec()),
        6 => proptest::sample::select(wide.to_vec()),
        1 => proptest::sample::select(broken.to_vec()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        rng_seed: RngSeed::Fixed(1),
        max_global_rejects: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn globs_match_as_in_the_c_library(
        pieces in proptest::collection::vec(piece(), 0..7),
        name in name(),
        folds in any::<bool>(),
    ) {
        let glob = pieces.concat();
        // POSIX leaves the meaning of such a range open, and the C library reads it in two ways.
        prop_assume!(!glob.windows(2).any(|pair| pair == b"-["));
        let case = if folds { Case::Ignored } else { Case::Matters };
        let answer = matches(&glob, &name, case);
        let shown = (glob.escape_ascii().to_string(), name.escape_ascii().to_string());
        let is_right = is_right(answer, &glob, &name, case);
        prop_assert!(is_right, "{:?} {:?} is not {}", shown, case, answer);
    }
}

#[test]
fn a_star_matches_a_leading_dot() {
    assert!(matches(b"*", b".hidden", Case::Matters));
    assert!(matches(b"*.[ch]", b".c", Case::Matters));
    assert!(!matches(b"*.[!ch]", b"a.c", Case::Matters));
    assert!(matches(b"READ*", b"readme", Case::Ignored));
    assert!(matches(b"\\*", b"*", Case::Matters));
    assert!(!matches(b"", b"a", Case::Matters));
}

#[test]
fn a_question_mark_matches_a_whole_character() {
    let matches = |glob: &str, name: &[u8]| matches(glob.as_bytes(), name, Case::Matters);
    assert!(matches("?", "\u{e9}".as_bytes()));
    assert!(!matches("??", "\u{e9}".as_bytes()));
    assert!(!matches("a??", "a\u{e9}".as_bytes()));
    assert!(matches("[\u{e0}-\u{ef}].txt", "\u{e9}.txt".as_bytes()));
    assert!(matches("[!a]", "\u{1f600}".as_bytes()));
    assert!(matches("[[:alpha:]]", "\u{e9}".as_bytes()));
    assert!(matches("?", b"\xe9"), "a byte that is not UTF-8");
    assert!(
        matches("???", b"\xc3\xa9\xff"),
        "the bytes of a name that is not UTF-8"
    );
}

#[test]
fn many_stars_take_no_time() {
    let glob = [&b"*a".repeat(120)[..], b"b"].concat();
    assert!(!matches(&glob, &b"a".repeat(255), Case::Matters));
}
