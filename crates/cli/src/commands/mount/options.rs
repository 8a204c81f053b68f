//! The words after `--options`.

use super::gateway::Asked;
use crate::cluster::cooperative;
use anyhow::{anyhow, bail, ensure};
use bytesize::ByteSize;
use futago_gate_fuse::{FlagChange, KernelCaches, Options};
use futago_node::CooperativeChoice;

/// Changes a mount instead of making one.
const REMOUNT: &str = "remount";

/// Words that only root may ask for.
const OF_ROOT: [&str; 3] = ["dev", "suid", "read_ahead"];

/// The access-time options that every mount has anyway.
const ACCESS_TIMES: [&str; 2] = ["relatime", "nodiratime"];

/// An option that the kernel leaves to FUSE file systems; servers apply `relatime` for all mounts.
const OTHER_ACCESS_TIMES: [&str; 4] = ["atime", "noatime", "strictatime", "norelatime"];

/// A user as mount(2) sees one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// May do what mount(2) can.
    Root,
    /// Mounts through fusermount3.
    Ordinary,
}

impl Caller {
    /// Of this process.
    pub fn current() -> Self {
        if rustix::process::geteuid().is_root() {
            Self::Root
        } else {
            Self::Ordinary
        }
    }

    fn ensure_allowed(self, word: &str) -> anyhow::Result<()> {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let is_of_root = word == REMOUNT || OF_ROOT.contains(&name);
        ensure!(
            self == Self::Root || !is_of_root,
            "mount option {word:?} is root's alone"
        );
        Ok(())
    }
}

/// Whether a mount is to be changed rather than made.
pub fn are_of_remount(words: &[String]) -> bool {
    words.iter().any(|word| word == REMOUNT)
}

/// The flags that a remount changes; `source` is what the mount table says is mounted. mount(8) and
/// fstab give all options again, also the name that stays.
///
/// # Errors
/// Words of what stays as it was mounted, and what the caller may not ask for.
pub fn parse_remount(source: &str, words: &[String], caller: Caller) -> anyhow::Result<FlagChange> {
    let mut change = FlagChange::default();
    for word in words.iter().map(String::as_str) {
        caller.ensure_allowed(word)?;
        let is_same = word.strip_prefix("fsname=") == Some(source);
        let is_unchanged = word == REMOUNT || is_same || ACCESS_TIMES.contains(&word);
        let is_known = is_unchanged || change.add(word);
        ensure!(
            is_known,
            "mount option {word:?} cannot be changed by remount, which takes ro, rw, dev, nodev, suid, nosuid, exec and \
             noexec; unmount, and mount again with it"
        );
    }
    Ok(change)
}

/// How a new mount is to be; `source` is what the mount table says is mounted, unless a word does.
///
/// # Errors
/// Words that are unknown, and what the caller may not ask for.
pub fn parse(source: &str, words: &[String], caller: Caller) -> anyhow::Result<Asked> {
    let mut options = Options {
        source: source.to_owned(),
        caches: Some(KernelCaches::default()),
        ..Options::default()
    };
    let mut data_bytes = None;
    let mut shares = CooperativeChoice::AsCluster;
    let mut flags = FlagChange::default();
    for word in words.iter().map(String::as_str) {
        caller.ensure_allowed(word)?;
        match word {
            "allow_other" => options.allow_other = true,
            "no_allow_other" => options.allow_other = false,
            "auto_unmount" => options.auto_unmount = true,
            "cache" => options.caches = Some(KernelCaches::default()),
            "no_cache" => options.caches = None,
            word if ACCESS_TIMES.contains(&word) || flags.add(word) => {}
            word => match word.split_once('=') {
                Some(("cache", size)) => data_bytes = Some(parse_size(word, size)?),
                Some(("read_ahead", size)) => {
                    options.read_ahead_bytes = Some(parse_size(word, size)?);
                }
                Some(("cooperative", text)) => {
                    let choice = cooperative::parse(text);
                    shares = choice.map_err(|error| anyhow!("mount option {word:?}: {error}"))?;
                }
                Some(("fsname", name)) if !name.is_empty() => name.clone_into(&mut options.source),
                _ => bail!(unknown(word)),
            },
        }
    }
    options.flags = flags.of(options.flags);
    Ok(Asked {
        options,
        data_bytes,
        cooperative: shares,
        publishes_metrics: false,
    })
}

fn parse_size(word: &str, size: &str) -> anyhow::Result<u64> {
    let Ok(ByteSize(bytes)) = size.parse() else {
        bail!("mount option {word:?}: {size:?} is no size; 64MiB or 0 would be");
    };
    Ok(bytes)
}

fn unknown(word: &str) -> String {
    if OTHER_ACCESS_TIMES.contains(&word) {
        return format!(
            "mount option {word:?} is not supported: servers keep access times as relatime does, for all mounts"
        );
    }
    format!(
        "mount option {word:?} is unknown; there are ro, rw, dev, nodev, suid, nosuid, exec, noexec, relatime, \
         nodiratime, fsname=NAME, allow_other, no_allow_other, cache, cache=SIZE, no_cache, cooperative=on, \
         cooperative=off, cooperative=size=SIZE, read_ahead=SIZE, auto_unmount and remount"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_gate_fuse::MountFlags;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    fn parsed(given: &[&str]) -> anyhow::Result<Asked> {
        parse("cluster", &words(given), Caller::Root)
    }

    #[test]
    fn a_mount_keeps_as_much_as_its_options_say() {
        let asked = parsed(&["ro", "cache=8MiB"]).expect("options");
        let client = asked.client(None);
        assert!(asked.options.flags.contains(MountFlags::READ_ONLY) && client.leases);
        assert_eq!(client.client.data_bytes_max, 8 << 20);
    }

    #[test]
    fn without_a_size_a_mount_keeps_what_clients_do_by_default() {
        let by_default = futago_node::Options::default().client.data_bytes_max;
        let client = parsed(&["cache"]).expect("options").client(None);
        assert_eq!(client.client.data_bytes_max, by_default);
        assert!(!parsed(&["no_cache"]).expect("options").client(None).leases);
    }

    #[test]
    fn the_kernel_reads_ahead_as_much_as_root_says() {
        let ahead = |given: &[&str]| parsed(given).expect("options").options.read_ahead_bytes;
        assert_eq!(ahead(&["ro"]), None);
        assert_eq!(ahead(&["read_ahead=4MiB"]), Some(4 << 20));
    }

    #[test]
    fn a_mount_is_safe_from_programs_and_devices_unless_root_says_otherwise() {
        let flags = |given: &[&str]| parsed(given).expect("options").options.flags;
        assert_eq!(flags(&["relatime"]), MountFlags::UNPRIVILEGED);
        assert_eq!(flags(&["dev", "suid", "noexec"]), MountFlags::NO_EXEC);
    }

    #[test]
    fn what_is_mounted_has_the_name_that_is_asked_for() {
        let source = |given: &[&str]| parsed(given).expect("options").options.source;
        assert_eq!(source(&[]), "cluster");
        assert_eq!(source(&["fsname=scratch=1"]), "scratch=1");
    }

    #[test]
    fn refused_words_are_named() {
        for (word, message) in [
            ("cach=1", "\"cach=1\" is unknown"),
            ("fsname=", "\"fsname=\" is unknown"),
            ("cache=much", "\"much\" is no size"),
            ("read_ahead=", "\"\" is no size"),
            ("noatime", "\"noatime\" is not supported"),
        ] {
            let error = parsed(&[word]).err().expect("an error").to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn what_only_root_may_do_is_refused_by_name() {
        for word in ["dev", "suid", "read_ahead=1MiB", "remount"] {
            let given = words(&["ro", word]);
            let made = parse("cluster", &given, Caller::Ordinary).map(|_| ());
            let changed = parse_remount("cluster", &given, Caller::Ordinary).map(|_| ());
            for refused in [made, changed] {
                let error = refused.expect_err("an error").to_string();
                assert!(error.contains(&format!("{word:?} is root's")), "{error}");
            }
        }
        let given = words(&["nodev", "nosuid", "noexec", "rw", "fsname=mine"]);
        assert!(parse("cluster", &given, Caller::Ordinary).is_ok());
    }

    #[test]
    fn a_remount_changes_flags_alone() {
        let given = words(&["remount", "ro", "suid", "fsname=cluster"]);
        let change = parse_remount("cluster", &given, Caller::Root).expect("a change");
        assert_eq!(
            change.of(MountFlags::UNPRIVILEGED),
            MountFlags::READ_ONLY | MountFlags::NO_DEV
        );
        for word in ["no_cache", "fsname=other", "allow_other"] {
            let given = words(&["remount", word]);
            let error = parse_remount("cluster", &given, Caller::Root).expect_err("an error");
            assert!(error.to_string().contains("cannot be changed"), "{error}");
        }
    }
}
