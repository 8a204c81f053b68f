//! The kernel's read-ahead window of one mount.
//!
//! INIT can only make the window smaller than the kernel's default of 128 KiB. Root can make it
//! larger through sysfs. The window holds for files that are opened afterwards.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

const DEVICES: &str = "/sys/class/bdi";

/// Sets the window of the file system with this device number, `major:minor`.
pub(crate) fn set(device: &OsStr, bytes: u64) -> io::Result<()> {
    set_below(Path::new(DEVICES), device, bytes)
}

fn set_below(devices: &Path, device: &OsStr, bytes: u64) -> io::Result<()> {
    let setting = devices.join(device).join("read_ahead_kb");
    // A missing file must not be made.
    let mut file = fs::OpenOptions::new().write(true).open(setting)?;
    io::Write::write_all(&mut file, bytes.div_ceil(1024).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_written_in_whole_kibibytes() {
        let devices = tempfile::tempdir().expect("folder");
        let device = devices.path().join("0:39");
        fs::create_dir(&device).expect("folder");
        fs::write(device.join("read_ahead_kb"), "").expect("setting");
        set_below(devices.path(), OsStr::new("0:39"), (1 << 20) - 1).expect("set");
        let written = fs::read_to_string(device.join("read_ahead_kb"));
        assert_eq!(written.expect("setting"), "1024");
    }

    #[test]
    fn a_device_without_a_setting_is_an_error() {
        let devices = tempfile::tempdir().expect("folder");
        let error = set_below(devices.path(), OsStr::new("0:39"), 1024).expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
