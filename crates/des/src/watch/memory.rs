//! The memory of this process according to the operating system.

/// The memory in use, in bytes; `None` where the system has no `/proc`.
pub fn resident_bytes() -> Option<u64> {
    status_field("VmRSS:")
}

/// The peak memory, in bytes; `None` where the system has no `/proc`.
pub fn peak_resident_bytes() -> Option<u64> {
    status_field("VmHWM:")
}

fn status_field(name: &str) -> Option<u64> {
    // Miri simulates a machine without `/proc`.
    if cfg!(miri) {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
