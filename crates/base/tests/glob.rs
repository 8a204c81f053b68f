//! Globs of a search match what `fnmatch` of the C library matches.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::search::{Case, matches};
use proptest::{prelude::*, test_runner::RngSeed};
use std::ffi::CString;

fn fnmatch(glob: &[u8], name: &[u8], case: Case) -> bool {
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
    ];
    proptest::sample::select(pieces).prop_map(<[u8]>::to_vec)
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let bytes = b"aabbBcZ-.][!^\\*?: 5\xff\xf3\n";
    proptest::collection::vec(proptest::sample::select(&bytes[..]), 0..8)
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
        let expected = fnmatch(&glob, &name, case);
        let shown = (glob.escape_ascii().to_string(), name.escape_ascii().to_string());
        prop_assert_eq!(matches(&glob, &name, case), expected, "{:?} {:?}", shown, case);
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
fn many_stars_take_no_time() {
    let glob = [&b"*a".repeat(120)[..], b"b"].concat();
    assert!(!matches(&glob, &b"a".repeat(255), Case::Matters));
}
