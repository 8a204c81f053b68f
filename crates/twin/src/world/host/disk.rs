//! The disk of a server: when what was written survives a loss of power.

use crate::world::Disk;
use serde::Serialize;

/// The longest time that written data is not synchronized, as in the real server.
const SYNCHRONIZE_EVERY_NS: u64 = 5_000_000_000;

/// The state of a disk.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DiskState {
    /// When the latest batch was written.
    written_ns: u64,
    /// The bytes of file data since the latest synchronization began.
    bytes: u64,
    /// When the latest synchronization begins and ends; both may be in the future.
    begin_ns: u64,
    end_ns: u64,
}

/// A wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When the synchronization begins that it has caused; its end if others have caused it.
    pub begin_ns: u64,
    /// When it is over.
    pub end_ns: u64,
}

impl DiskState {
    /// A batch with so much file data is written. `draw` is the time of a synchronization.
    pub fn write(&mut self, now_ns: u64, bytes: usize, disk: &Disk, draw: impl FnOnce() -> u64) {
        self.written_ns = now_ns;
        self.bytes += bytes as u64;
        if now_ns.saturating_sub(self.end_ns) >= SYNCHRONIZE_EVERY_NS {
            self.synchronize(now_ns, disk, draw());
        }
    }

    /// Something waits until all that was written is durable.
    pub fn wait(&mut self, now_ns: u64, disk: &Disk, draw: impl FnOnce() -> u64) -> Wait {
        let is_covered = self.written_ns <= self.begin_ns;
        if !is_covered {
            self.synchronize(now_ns, disk, draw());
        } else if now_ns < self.begin_ns {
            self.end_ns += self.taken_bytes_ns(disk);
        }
        let end_ns = self.end_ns.max(now_ns);
        let begin_ns = if is_covered { end_ns } else { self.begin_ns };
        Wait { begin_ns, end_ns }
    }

    /// Begins a synchronization when the one before has ended.
    fn synchronize(&mut self, now_ns: u64, disk: &Disk, latency_ns: u64) {
        self.begin_ns = self.end_ns.max(now_ns);
        self.end_ns = self.begin_ns + latency_ns + self.taken_bytes_ns(disk);
    }

    fn taken_bytes_ns(&mut self, disk: &Disk) -> u64 {
        (std::mem::take(&mut self.bytes) as f64 * disk.byte_ns).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Disk = Disk {
        batch_ns: 0.0,
        handed_byte_ns: 0.0,
        latency: crate::world::Latency::Constant(100),
        byte_ns: 2.0,
        recovered_record_ns: 0.0,
        held_records: 0,
        reads: None,
    };

    fn wait(state: &mut DiskState, now_ns: u64) -> [u64; 2] {
        let wait = state.wait(now_ns, &DISK, || 100);
        [wait.begin_ns, wait.end_ns]
    }

    fn write(state: &mut DiskState, now_ns: u64, bytes: usize) {
        state.write(now_ns, bytes, &DISK, || 100);
    }

    #[test]
    fn one_synchronization_serves_all_that_was_written_before_it() {
        let mut state = DiskState::default();
        write(&mut state, 10, 5);
        assert_eq!(wait(&mut state, 10), [10, 120]);
        assert_eq!(
            wait(&mut state, 20),
            [120, 120],
            "nothing was written since"
        );
        write(&mut state, 30, 0);
        assert_eq!(wait(&mut state, 30), [120, 220]);
        write(&mut state, 40, 3);
        assert_eq!(
            wait(&mut state, 40),
            [226, 226],
            "it begins later than that"
        );
        assert_eq!(wait(&mut state, 500), [500, 500]);
    }

    #[test]
    fn nothing_stays_unsynchronized_for_long() {
        let mut state = DiskState::default();
        write(&mut state, SYNCHRONIZE_EVERY_NS, 0);
        let end_ns = SYNCHRONIZE_EVERY_NS + 100;
        assert_eq!(wait(&mut state, SYNCHRONIZE_EVERY_NS + 1), [end_ns, end_ns]);
    }
}
