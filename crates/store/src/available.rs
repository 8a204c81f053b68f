//! The memory that this process may use: what the host has left, bounded by its control groups.

use std::fs;
use std::path::Path;

/// The bytes that this process can still allocate before the host or a control group is full.
/// Control groups of version 1 and 2 are read. Page cache that can be dropped counts as free.
/// `None` if the host reports nothing.
pub fn available_memory_bytes() -> Option<u64> {
    available_below(Path::new("/"))
}

fn available_below(root: &Path) -> Option<u64> {
    let host = host_available(&root.join("proc/meminfo"));
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = groups
        .lines()
        .filter_map(|line| group_available(root, line));
    host.into_iter().chain(groups).min()
}

/// `MemAvailable` of a `/proc/meminfo`.
fn host_available(meminfo: &Path) -> Option<u64> {
    let text = fs::read_to_string(meminfo).ok()?;
    let kib = field(&text, "MemAvailable:")?;
    Some(kib * 1024)
}

/// The bytes left in the control group of a line of `/proc/self/cgroup`, or in a group around it.
fn group_available(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let version = if controllers.is_empty() {
        &UNIFIED
    } else if controllers.split(',').any(|name| name == "memory") {
        &LEGACY
    } else {
        return None;
    };
    let mount = root.join(version.mount);
    let group = mount.join(path.trim_start_matches('/'));
    group
        .ancestors()
        .take_while(|group| group.starts_with(&mount))
        .filter_map(|group| version.available(group))
        .min()
}

/// The files in which a version of control groups reports its figures.
struct Version {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    reclaimable: &'static str,
}

const UNIFIED: Version = Version {
    mount: "sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: "inactive_file",
};

const LEGACY: Version = Version {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};

impl Version {
    /// The bytes left in one group; `None` if the group has no limit or is not visible here.
    fn available(&self, group: &Path) -> Option<u64> {
        let number = |file: &str| {
            let text = fs::read_to_string(group.join(file)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let limit = number(self.limit)?;
        let usage = number(self.usage)?;
        let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let reclaimable = field(&statistics, self.reclaimable).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
    }
}

/// The number after `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files under a temporary root.
    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable:  4000 kB\n",
    );

    #[test]
    fn without_control_groups_the_host_decides() {
        let root = host(&[MEMINFO]);
        assert_eq!(available_below(root.path()), Some(4000 * 1024));
        assert_eq!(available_below(host(&[]).path()), None);
    }

    #[test]
    fn the_tightest_group_on_the_way_up_decides() {
        let root = host(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/job/memory.max", "1000000\n"),
            ("sys/fs/cgroup/job/memory.current", "600000\n"),
            (
                "sys/fs/cgroup/job/memory.stat",
                "anon 5\ninactive_file 100000\n",
            ),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "500000\n"),
        ]);
        assert_eq!(available_below(root.path()), Some(500_000));
    }

    #[test]
    fn the_first_version_of_control_groups_is_understood() {
        let root = host(&[
            MEMINFO,
            (
                "proc/self/cgroup",
                "5:cpu:/x\n4:memory,hugetlb:/job\n0::/\n",
            ),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "900000\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "950000\n"),
            (
                "sys/fs/cgroup/memory/job/memory.stat",
                "total_inactive_file 100000\n",
            ),
        ]);
        assert_eq!(available_below(root.path()), Some(50_000));
    }

    #[test]
    fn a_group_that_is_not_visible_here_falls_back_to_those_around_it() {
        let root = host(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/docker/0123\n"),
            ("sys/fs/cgroup/memory.max", "700000\n"),
            ("sys/fs/cgroup/memory.current", "0\n"),
        ]);
        assert_eq!(available_below(root.path()), Some(700_000));
    }
}
