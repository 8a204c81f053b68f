//! One client's part of a phase: its operations, timed each, one or more of them under way.

use super::{
    Phase, Work,
    io500::{Rank, Ranks},
    target::{FileSystem, Session},
};
use anyhow::{anyhow, bail, ensure};
use bytes::BytesMut;
use futago_base::Pattern;
use futago_lab::{
    statistics::{ClientPhase, Latencies},
    workload::{IoPhase, IoWorkload, MetadataPhase, MetadataWorkload, Transfer},
};
use std::{cell::RefCell, time::Instant};

/// The work of a client in a phase.
pub struct Part<'a> {
    /// The directory of the run.
    pub directory: &'a str,
    work: Work,
    phase: Phase,
    /// The number of the client.
    pub client: u32,
    ranks: &'a Ranks<'a>,
}

/// The operations of a client.
pub type Measured = anyhow::Result<Sums>;

/// Sums over operations.
#[derive(Default)]
pub struct Sums {
    latencies: Latencies,
    bytes: u64,
    /// Files that a search has found.
    found: u64,
}

/// The measurements of tasks that share a thread: one histogram, which stays in the CPU's caches.
#[derive(Default)]
pub struct Tally(RefCell<Sums>);

impl Tally {
    /// Adds an operation.
    pub fn add(&self, latency_ns: u64, bytes: u64) {
        let mut sums = self.0.borrow_mut();
        sums.latencies.record(latency_ns);
        sums.bytes += bytes;
    }

    /// Adds files that a search has found.
    pub fn found(&self, files: u64) {
        self.0.borrow_mut().found += files;
    }

    /// All of it.
    pub fn into_sums(self) -> Sums {
        self.0.into_inner()
    }
}

/// The combined measurements of several tasks.
pub fn sum(results: Vec<Measured>) -> Measured {
    let mut sums = Sums::default();
    for result in results {
        let part = result?;
        sums.latencies.merge(&part.latencies);
        sums.bytes += part.bytes;
        sums.found += part.found;
    }
    Ok(sums)
}

impl<'a> Part<'a> {
    /// The part of client number `client`.
    pub const fn new(
        directory: &'a str,
        work: Work,
        phase: Phase,
        client: u32,
        ranks: &'a Ranks<'a>,
    ) -> Self {
        Self {
            directory,
            work,
            phase,
            client,
            ranks,
        }
    }

    /// Does it.
    pub fn run(&self, file_system: &dyn FileSystem, in_flight: u32) -> anyhow::Result<ClientPhase> {
        let cpu_before = cpu_us();
        let started_ns = clock_ns();
        let measured = file_system.perform(self, in_flight);
        let ended_ns = clock_ns();
        let sums = measured?;
        Ok(ClientPhase {
            started_ns,
            ended_ns,
            bytes: sums.bytes,
            cpu_us: cpu_us() - cpu_before,
            latencies: sums.latencies,
            found: sums.found,
        })
    }

    /// The path of a file of the run.
    pub fn path(&self, below: &str) -> String {
        [self.directory, "/", below].concat()
    }

    /// Opens the large file that the phase is about, if it is.
    pub async fn open<S: Session>(&self, session: &S) -> anyhow::Result<Option<S::File>> {
        let (Work::Io { workload, .. }, Some(phase)) = (&self.work, self.phase.io()) else {
            return Ok(None);
        };
        let path = self.path(&workload.path(workload.owner(phase, self.client)));
        session.open(&path, phase == IoPhase::Write).await.map(Some)
    }

    /// Does some of the operations, one after another.
    pub async fn lane<S: Session>(
        &self,
        session: &S,
        file: Option<&S::File>,
        which: Which,
        tally: &Tally,
    ) -> anyhow::Result<()> {
        match (&self.work, self.phase, self.phase.io().zip(file)) {
            (Work::Metadata(workload), Phase::Metadata(phase), _) => {
                self.metadata(session, workload, phase, which, tally).await
            }
            (Work::Io { workload, .. }, _, Some((phase, file))) => {
                self.io(session, file, workload, phase, which, tally).await
            }
            (Work::Io500(plan), Phase::Io500(phase), _) => {
                let rank = Rank {
                    part: self,
                    plan,
                    phase,
                    ranks: self.ranks,
                };
                rank.run(session, tally).await
            }
            _ => Err(anyhow!("a phase of another kind of work")),
        }
    }

    /// Brings what was written to where it shall be, and closes the file.
    pub async fn end<S: Session>(&self, session: &S, file: Option<S::File>) -> anyhow::Result<()> {
        let Some(file) = file else { return Ok(()) };
        if self.phase == Phase::Io(IoPhase::Write) {
            session.flush(&file).await?;
        }
        session.close(file).await
    }

    async fn metadata(
        &self,
        session: &impl Session,
        workload: &MetadataWorkload,
        phase: MetadataPhase,
        which: Which,
        tally: &Tally,
    ) -> anyhow::Result<()> {
        let owner = workload.owner(phase, self.client);
        for index in (u64::from(which.lane)..workload.files).step_by(which.lanes as usize) {
            let path = self.path(&workload.path(owner, index));
            let contents = workload.contents(owner, index);
            let bytes = match phase {
                MetadataPhase::Create | MetadataPhase::Read => contents.len() as u64,
                _ => 0,
            };
            let started = Instant::now();
            metadata_operation(session, phase, &path, contents).await?;
            tally.add(started.elapsed().as_nanos() as u64, bytes);
        }
        Ok(())
    }

    async fn io<S: Session>(
        &self,
        session: &S,
        file: &S::File,
        workload: &IoWorkload,
        phase: IoPhase,
        which: Which,
        tally: &Tally,
    ) -> anyhow::Result<()> {
        let owner = workload.owner(phase, self.client);
        let path = self.path(&workload.path(owner));
        let contents = workload.contents(owner);
        let transfers = workload.transfers(owner);
        let transfers = transfers.skip(which.lane as usize);
        let mut buffer = BytesMut::new();
        for transfer in transfers.step_by(which.lanes as usize) {
            let latency_ns = match phase {
                IoPhase::Write => {
                    timed_write(session, file, contents, transfer, &mut buffer).await?
                }
                IoPhase::Read => timed_read(session, file, contents, transfer, &path).await?,
            };
            tally.add(latency_ns, u64::from(transfer.length));
        }
        Ok(())
    }
}

/// Which operations: every `lanes`th, from number `lane` on.
#[derive(Clone, Copy)]
pub struct Which {
    pub lane: u32,
    pub lanes: u32,
}

async fn metadata_operation(
    session: &impl Session,
    phase: MetadataPhase,
    path: &str,
    contents: Vec<u8>,
) -> anyhow::Result<()> {
    let length = contents.len();
    match phase {
        MetadataPhase::Create => session.create(path, contents).await,
        MetadataPhase::Stat => {
            let size = session.size(path).await?;
            ensure!(
                size == length as u64,
                "{path} has {size} bytes instead of {length}"
            );
            Ok(())
        }
        MetadataPhase::Read => {
            let data = session.read(path, length as u32).await?;
            ensure!(data == contents, "{path} does not hold what was written");
            Ok(())
        }
        MetadataPhase::Unlink => session.unlink(path).await,
    }
}

/// Returns how long it took, the making of the data not counted. The data is made in the same
/// buffer each time, as most programs do, unless the session keeps it.
pub async fn timed_write<S: Session>(
    session: &S,
    file: &S::File,
    contents: Pattern,
    transfer: Transfer,
    buffer: &mut BytesMut,
) -> anyhow::Result<u64> {
    let Transfer { offset, length } = transfer;
    buffer.resize(length as usize, 0);
    contents.fill(offset, buffer);
    let data = std::mem::take(buffer).freeze();
    let started = Instant::now();
    session.write_at(file, offset, data.clone()).await?;
    let latency_ns = started.elapsed().as_nanos() as u64;
    *buffer = data.try_into_mut().unwrap_or_default();
    Ok(latency_ns)
}

/// Returns how long it took, the checking of the data not counted.
pub async fn timed_read<S: Session>(
    session: &S,
    file: &S::File,
    contents: Pattern,
    transfer: Transfer,
    path: &str,
) -> anyhow::Result<u64> {
    let Transfer { offset, length } = transfer;
    let started = Instant::now();
    let data = session.read_at(file, offset, length).await?;
    let latency_ns = started.elapsed().as_nanos() as u64;
    ensure!(
        data.len() == length as usize,
        "{path} ends before {}",
        offset + u64::from(length)
    );
    if let Some(at) = contents.first_difference(offset, &data) {
        bail!("{path} does not hold at {at} what was written");
    }
    Ok(latency_ns)
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
