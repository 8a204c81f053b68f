//! The bytes of messages, stored in `golden/`. Changing them changes the protocol, which requires a
//! new version.
//!
//! `UPDATE_GOLDEN=1 cargo test -p futago-wire --test golden` rewrites them.

mod samples;

use futago_wire::Frame;
use std::{env, fs, path::Path};

fn bytes(frame: &Frame) -> Vec<u8> {
    frame.encode(crc32c::crc32c_append).concat()
}

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| {
        line.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    bytes.chunks(32).map(line).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn messages_have_the_bytes_that_they_always_had() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, frame) in samples::frames() {
        let path = folder.join(format!("{name}.hex"));
        let found = hex(&bytes(&frame));
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &found).expect("cannot write a golden file");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, expected, "{name}");
    }
}
