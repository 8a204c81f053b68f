//! Extended attributes through two mounts.

mod fixture;

use fixture::Twins;
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use std::fs;

/// Names that other file systems accept, too.
const NAMES: [&str; 3] = ["user.name", "user.a/b", "user./"];

#[test]
fn names_of_extended_attributes_are_not_interpreted() {
    let Some(twins) = Twins::start() else { return };
    let (path, other) = (twins.path(0, "file"), twins.path(1, "file"));
    fs::write(&path, b"data").expect("written");
    for name in NAMES {
        setxattr(&path, name, name.as_bytes(), XattrFlags::CREATE).expect(name);
    }
    let mut listed = [0; 100];
    let length = listxattr(&other, &mut listed).expect("a list");
    let mut listed: Vec<&[u8]> = listed[..length]
        .split_inclusive(|byte| *byte == 0)
        .collect();
    listed.sort_unstable();
    let ended = NAMES.map(|name| format!("{name}\0"));
    let mut expected = ended.each_ref().map(String::as_bytes);
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for name in NAMES {
        let mut value = [0; 100];
        let length = getxattr(&other, name, &mut value).expect(name);
        assert_eq!(&value[..length], name.as_bytes());
        removexattr(&other, name).expect(name);
    }
}
