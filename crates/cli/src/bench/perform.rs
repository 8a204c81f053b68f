//! One client's part of a phase: its operations, timed each, on one or more threads.

use super::{
    Phase, Work,
    target::{File, FileSystem},
};
use anyhow::{anyhow, ensure};
use futago_base::Pattern;
use futago_lab::{
    statistics::{ClientPhase, Latencies},
    workload::{IoPhase, IoWorkload, MetadataPhase, MetadataWorkload, Transfer},
};
use std::{sync::Arc, thread, time::Instant};

/// A file system and where in it the run takes place.
pub struct Place<'a> {
    /// The file system.
    pub file_system: &'a dyn FileSystem,
    /// The directory of the run.
    pub directory: &'a str,
}

/// What threads of one client have measured.
type Measured = anyhow::Result<(Latencies, u64)>;

impl Place<'_> {
    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.directory)
    }

    /// Runs a client's part of a phase.
    pub fn run(
        &self,
        work: &Work,
        phase: Phase,
        client: u32,
        threads: u32,
    ) -> anyhow::Result<ClientPhase> {
        let cpu_before = cpu_us();
        let started_ns = clock_ns();
        let measured = match (work, phase) {
            (Work::Metadata(workload), Phase::Metadata(phase)) => {
                self.metadata(workload, phase, client, threads)
            }
            (Work::Io(workload), Phase::Io(phase)) => self.io(workload, phase, client, threads),
            _ => Err(anyhow!("a phase of another kind of work")),
        };
        let ended_ns = clock_ns();
        let (latencies, bytes) = measured?;
        Ok(ClientPhase {
            started_ns,
            ended_ns,
            bytes,
            cpu_us: cpu_us() - cpu_before,
            latencies,
        })
    }

    fn metadata(
        &self,
        workload: &MetadataWorkload,
        phase: MetadataPhase,
        client: u32,
        threads: u32,
    ) -> Measured {
        let owner = workload.owner(phase, client);
        on_threads(threads, |thread| {
            let mut latencies = Latencies::default();
            let mut bytes = 0;
            for index in (u64::from(thread)..workload.files).step_by(threads as usize) {
                let path = self.path(&workload.path(owner, index));
                let contents = workload.contents(owner, index);
                bytes += match phase {
                    MetadataPhase::Create | MetadataPhase::Read => contents.len() as u64,
                    _ => 0,
                };
                let started = Instant::now();
                self.metadata_operation(phase, &path, contents)?;
                latencies.record(started.elapsed().as_nanos() as u64);
            }
            Ok((latencies, bytes))
        })
    }

    fn metadata_operation(
        &self,
        phase: MetadataPhase,
        path: &str,
        contents: Vec<u8>,
    ) -> anyhow::Result<()> {
        let length = contents.len();
        match phase {
            MetadataPhase::Create => self.file_system.create(path, contents),
            MetadataPhase::Stat => {
                let size = self.file_system.size(path)?;
                ensure!(
                    size == length as u64,
                    "{path} has {size} bytes instead of {length}"
                );
                Ok(())
            }
            MetadataPhase::Read => {
                let data = self.file_system.read(path, length as u32)?;
                ensure!(data == contents, "{path} does not hold what was written");
                Ok(())
            }
            MetadataPhase::Unlink => self.file_system.unlink(path),
        }
    }

    fn io(&self, workload: &IoWorkload, phase: IoPhase, client: u32, threads: u32) -> Measured {
        let owner = workload.owner(phase, client);
        let path = self.path(&workload.path(owner));
        let file = self.file_system.open(&path, phase == IoPhase::Write)?;
        let contents = workload.contents(owner);
        let transfers: Vec<Transfer> = workload.transfers(owner).collect();
        let measured = on_threads(threads, |thread| {
            let mut latencies = Latencies::default();
            let mut bytes = 0;
            for transfer in transfers
                .iter()
                .skip(thread as usize)
                .step_by(threads as usize)
            {
                latencies.record(io_operation(&file, phase, contents, *transfer, &path)?);
                bytes += u64::from(transfer.length);
            }
            Ok((latencies, bytes))
        })?;
        if phase == IoPhase::Write {
            file.flush()?;
        }
        Ok(measured)
    }
}

/// Returns how long the transfer took, the making and checking of its data not counted.
fn io_operation(
    file: &Arc<dyn File>,
    phase: IoPhase,
    contents: Pattern,
    transfer: Transfer,
    path: &str,
) -> anyhow::Result<u64> {
    let Transfer { offset, length } = transfer;
    if phase == IoPhase::Write {
        let mut data = vec![0; length as usize];
        contents.fill(offset, &mut data);
        let started = Instant::now();
        file.write_at(offset, data)?;
        return Ok(started.elapsed().as_nanos() as u64);
    }
    let started = Instant::now();
    let data = file.read_at(offset, length)?;
    let latency_ns = started.elapsed().as_nanos() as u64;
    ensure!(
        data.len() == length as usize,
        "{path} ends before {}",
        offset + u64::from(length)
    );
    if let Some(at) = contents.first_difference(offset, &data) {
        return Err(anyhow!("{path} does not hold at {at} what was written"));
    }
    Ok(latency_ns)
}

fn on_threads(threads: u32, each: impl Fn(u32) -> Measured + Sync) -> Measured {
    if threads == 1 {
        return each(0);
    }
    let results: Vec<Measured> = thread::scope(|scope| {
        let each = &each;
        let running: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || each(number)))
            .collect();
        let results = running.into_iter();
        results
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(anyhow!("a thread has panicked")))
            })
            .collect()
    });
    let mut latencies = Latencies::default();
    let mut bytes = 0;
    for result in results {
        let (part, part_bytes) = result?;
        latencies.merge(&part);
        bytes += part_bytes;
    }
    Ok((latencies, bytes))
}

/// The time since the host started, which all its processes share.
fn clock_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processor time of this process, in microseconds.
fn cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}
