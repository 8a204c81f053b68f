//! The options of a mount.

use super::MountFlags;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Options of a mount.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// The source: the first column of the mount table.
    pub source: String,
    /// The type is "fuse." and this, "fuse" if empty.
    pub subtype: String,
    /// Admit users other than the mounting one. Unprivileged users need `user_allow_other` in
    /// `/etc/fuse.conf`.
    pub allow_other: bool,
    /// The kernel checks permissions from mode, owner and group.
    pub default_permissions: bool,
    /// Flags that every file system has. Only root may omit [`MountFlags::UNPRIVILEGED`].
    pub flags: MountFlags,
    /// Most bytes in one read.
    pub max_read_bytes: u32,
    /// A small process unmounts when this process ends, however it ends.
    pub auto_unmount: bool,
    /// Unmount a dead mount at the mount point instead of failing.
    pub replace_dead: bool,
}

impl Default for MountOptions {
    fn default() -> Self {
        Self {
            source: String::from("futago"),
            subtype: String::from("futago"),
            allow_other: false,
            default_permissions: true,
            flags: MountFlags::UNPRIVILEGED,
            max_read_bytes: 1 << 20,
            auto_unmount: false,
            replace_dead: true,
        }
    }
}

impl MountOptions {
    /// The type in the mount table.
    #[must_use]
    pub fn kind(&self) -> String {
        if self.subtype.is_empty() {
            "fuse".into()
        } else {
            format!("fuse.{}", self.subtype)
        }
    }

    /// Options that the file system itself reads, the same for mount(2) and fusermount3.
    pub(super) fn data(&self) -> Vec<String> {
        let mut data = vec![format!("max_read={}", self.max_read_bytes)];
        data.extend(self.allow_other.then(|| "allow_other".into()));
        data.extend(
            self.default_permissions
                .then(|| "default_permissions".into()),
        );
        data
    }

    /// The argument of `fusermount3 -o`, with commas and backslashes of free text escaped.
    pub(super) fn for_helper(&self) -> OsString {
        let mut options = self.data();
        options.push(format!("fsname={}", escape(&self.source)));
        if !self.subtype.is_empty() {
            options.push(format!("subtype={}", escape(&self.subtype)));
        }
        options.extend(self.flags.words().map(String::from));
        options.join(",").into()
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', r"\\").replace(',', r"\,")
}

/// Undoes the octal escapes of the kernel's mount table.
pub(super) fn unescape(text: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .filter(|digits| first == b'\\' && digits.iter().all(is_octal));
        if let Some(digits) = digits {
            let value = digits
                .iter()
                .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            plain.push((value & 0xff) as u8);
            rest = &after[3..];
        } else {
            plain.push(first);
            rest = after;
        }
    }
    OsString::from_vec(plain)
}

fn is_octal(byte: &u8) -> bool {
    (b'0'..=b'7').contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn free_text_cannot_add_options() {
        let options = MountOptions {
            source: r"a,dev\b".into(),
            ..MountOptions::default()
        };
        let text = options.for_helper().into_string().expect("text");
        assert!(text.contains(r"fsname=a\,dev\\b"), "{text}");
    }

    #[test]
    fn the_tables_escapes_are_undone() {
        let plain = unescape(br"/a\040b\134c\xff\9");
        assert_eq!(plain.as_bytes(), br"/a b\c\xff\9");
    }
}
