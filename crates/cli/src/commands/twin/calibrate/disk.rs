//! The time until data is on the disk, and until the system has it.

use anyhow::Context;
use std::{
    fs::{File, OpenOptions, remove_file},
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

/// How often a small and a large piece is written in one round.
const WRITES: [u32; 2] = [32, 8];
/// The bytes that they overwrite from begin to end: data that is there, as in a log that is used
/// again.
const FILE_BYTES: u64 = 8 << 20;

/// The mean times of a write.
pub struct WriteTimes {
    /// Until the system has it.
    pub handed_ns: f64,
    /// From then until it is on the disk.
    pub synchronized_ns: f64,
}

/// A file of the measurement, without a name.
pub struct Disk(File);

impl Disk {
    /// In this directory.
    pub fn below(directory: &Path) -> anyhow::Result<Self> {
        let name = format!(".futago-calibration-{}", std::process::id());
        let path = directory.join(name);
        let make = || {
            let mut options = OpenOptions::new();
            let file = options.write(true).create_new(true).open(&path)?;
            remove_file(&path)?;
            file.write_all_at(&vec![1; FILE_BYTES as usize], 0)?;
            file.sync_all()?;
            Ok::<_, std::io::Error>(file)
        };
        let file = make().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(file))
    }

    /// The times for a small and a large piece, in nanoseconds.
    pub fn write_ns(&self, sizes: [usize; 2]) -> anyhow::Result<[WriteTimes; 2]> {
        let [small, large] = sizes;
        let measured = self
            .write(small, WRITES[0])
            .and_then(|small_ns| Ok([small_ns, self.write(large, WRITES[1])?]));
        measured.context("cannot write to the disk")
    }

    fn write(&self, bytes: usize, count: u32) -> std::io::Result<WriteTimes> {
        let data = vec![2; bytes];
        let (mut handed, began) = (Duration::ZERO, Instant::now());
        for number in 0..u64::from(count) {
            let offset = number * data.len() as u64 % FILE_BYTES;
            let write_began = Instant::now();
            self.0.write_all_at(&data, offset)?;
            handed += write_began.elapsed();
            self.0.sync_data()?;
        }
        let mean_ns = |time: Duration| time.as_nanos() as f64 / f64::from(count);
        let (handed_ns, durable_ns) = (mean_ns(handed), mean_ns(began.elapsed()));
        Ok(WriteTimes {
            handed_ns,
            synchronized_ns: durable_ns - handed_ns,
        })
    }
}
