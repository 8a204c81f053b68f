//! Flags that every file system has. The kernel enforces them without a request.

use bitflags::bitflags;

bitflags! {
    /// Flags of mount(2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MountFlags: libc::c_ulong {
        /// Forbids writes.
        const READ_ONLY = libc::MS_RDONLY;
        /// Ignore set-user-id, set-group-id and capabilities of programs.
        const NO_SUID = libc::MS_NOSUID;
        /// Ignore device nodes.
        const NO_DEV = libc::MS_NODEV;
        /// Forbids the execution of programs.
        const NO_EXEC = libc::MS_NOEXEC;
    }
}

/// The words of mount(8) for each flag: one that sets it, and one that clears it.
const WORDS: [(MountFlags, &str, &str); 4] = [
    (MountFlags::READ_ONLY, "ro", "rw"),
    (MountFlags::NO_SUID, "nosuid", "suid"),
    (MountFlags::NO_DEV, "nodev", "dev"),
    (MountFlags::NO_EXEC, "noexec", "exec"),
];

/// A change of flags; other flags stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagChange {
    set: MountFlags,
    cleared: MountFlags,
}

impl Default for FlagChange {
    fn default() -> Self {
        Self {
            set: MountFlags::empty(),
            cleared: MountFlags::empty(),
        }
    }
}

impl FlagChange {
    /// Adds the change of one of mount(8)'s words, which overrides earlier ones. Returns whether
    /// the word belongs to a flag.
    pub fn add(&mut self, word: &str) -> bool {
        let Some((flag, set, _)) = WORDS
            .iter()
            .find(|(_, on, off)| [*on, *off].contains(&word))
        else {
            return false;
        };
        self.set.set(*flag, word == *set);
        self.cleared.set(*flag, word != *set);
        true
    }

    /// The flags after the change.
    #[must_use]
    pub fn of(self, flags: MountFlags) -> MountFlags {
        (flags | self.set) - self.cleared
    }
}

impl MountFlags {
    /// The flags of an ordinary user's mount, and the default of any other mount.
    pub const UNPRIVILEGED: Self = Self::NO_SUID.union(Self::NO_DEV);

    /// The words of mount(8) for all flags, set or cleared.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(
            move |(flag, set, cleared)| {
                if self.contains(*flag) { *set } else { *cleared }
            },
        )
    }

    /// The flags in a comma-separated list of words, as in the kernel's mount table.
    pub(super) fn in_table(words: &[u8]) -> Self {
        let mut flags = FlagChange::default();
        for word in words.split(|&byte| byte == b',') {
            flags.add(&String::from_utf8_lossy(word));
        }
        flags.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let mut change = FlagChange::default();
        for word in ["ro", "noexec", "rw", "dev"] {
            assert!(change.add(word), "{word}");
        }
        assert!(!change.add("relatime"));
        assert_eq!(
            change.of(MountFlags::UNPRIVILEGED | MountFlags::READ_ONLY),
            MountFlags::NO_SUID | MountFlags::NO_EXEC
        );
    }

    #[test]
    fn words_are_those_of_the_table() {
        let flags = MountFlags::NO_DEV | MountFlags::NO_EXEC;
        let words: Vec<_> = flags.words().collect();
        assert_eq!(words, ["rw", "suid", "nodev", "noexec"]);
        assert_eq!(MountFlags::in_table(b"rw,nodev,noexec,relatime"), flags);
    }
}
