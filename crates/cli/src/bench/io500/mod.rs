//! A rank of the IO500 benchmark: its part of each phase, through any file system.

pub mod coordinator;

use super::{
    perform::{Part, Tally, timed_read, timed_write},
    target::{Session, Wanted},
};
use anyhow::ensure;
use bytes::BytesMut;
use futago_lab::io500::{Io500Phase, Io500Plan};
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The file whose time of modification separates old files from those that the search wants.
pub const TIMESTAMP_FILE: &str = "timestampfile";

/// The number of things that each rank has made so far. It is the same for all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Transfers of ior-easy.
    pub easy_transfers: u64,
    /// Transfers of ior-hard.
    pub hard_transfers: u64,
    /// Files of mdtest-easy.
    pub easy_files: u64,
    /// Files of mdtest-hard.
    pub hard_files: u64,
}

impl Written {
    /// Notes what a writing phase has made.
    pub const fn note(&mut self, phase: Io500Phase, count: u64) {
        match phase {
            Io500Phase::IorEasyWrite => self.easy_transfers = count,
            Io500Phase::IorHardWrite => self.hard_transfers = count,
            Io500Phase::MdtestEasyWrite => self.easy_files = count,
            Io500Phase::MdtestHardWrite => self.hard_files = count,
            _ => {}
        }
    }

    /// How many operations a rank has in a phase without a stonewall.
    const fn operations(&self, phase: Io500Phase) -> u64 {
        match phase {
            Io500Phase::IorEasyRead => self.easy_transfers,
            Io500Phase::IorHardRead => self.hard_transfers,
            Io500Phase::MdtestEasyStat | Io500Phase::MdtestEasyDelete => self.easy_files,
            _ => self.hard_files,
        }
    }
}

/// The ranks' agreement on how much each does beyond the stonewall.
pub struct Ranks<'a> {
    /// Waits until all ranks have reached the stonewall. Takes the number of operations of this
    /// rank, and returns the largest of all ranks.
    pub meet: &'a (dyn Fn(u64) -> anyhow::Result<u64> + Sync),
    /// The number of things that each rank has made so far.
    pub written: &'a Mutex<Written>,
}

impl Ranks<'_> {
    fn so_far(&self) -> Written {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, phase: Io500Phase, count: u64) {
        let written = self.written.lock();
        written
            .unwrap_or_else(PoisonError::into_inner)
            .note(phase, count);
    }
}

/// A rank in a phase.
pub struct Rank<'a> {
    pub part: &'a Part<'a>,
    pub plan: &'a Io500Plan,
    pub phase: Io500Phase,
    pub ranks: &'a Ranks<'a>,
}

impl Rank<'_> {
    /// Does the rank's part of the phase.
    pub async fn run<S: Session>(&self, session: &S, tally: &Tally) -> anyhow::Result<()> {
        match self.phase {
            Io500Phase::Find => self.find(session, tally).await,
            Io500Phase::IorEasyWrite
            | Io500Phase::IorHardWrite
            | Io500Phase::IorEasyRead
            | Io500Phase::IorHardRead
            | Io500Phase::IorRandomRead => self.transfers(session, tally).await,
            _ => self.small_files(session, tally).await,
        }
    }

    fn owner(&self) -> u32 {
        self.plan.owner(self.phase, self.part.client)
    }

    /// Calls an operation with 0, 1, and so on, as often as the phase says.
    async fn repeat(
        &self,
        mut operation: impl AsyncFnMut(u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if !self.phase.has_stonewall() {
            for index in 0..self.ranks.so_far().operations(self.phase) {
                operation(index).await?;
            }
            return Ok(());
        }
        let stonewall = Instant::now() + Duration::from_secs(self.plan.stonewall_s.into());
        let (mut done, limit) = (0, self.plan.limit(self.phase));
        while done < limit && Instant::now() < stonewall {
            operation(done).await?;
            done += 1;
        }
        let most = (self.ranks.meet)(done)?;
        for index in done..most {
            operation(index).await?;
        }
        self.ranks.note(self.phase, most);
        Ok(())
    }

    async fn transfers<S: Session>(&self, session: &S, tally: &Tally) -> anyhow::Result<()> {
        let (phase, owner) = (self.phase, self.owner());
        let (path, contents) = Io500Plan::large_file(phase, owner);
        let path = self.part.path(&path);
        if phase == Io500Phase::IorHardWrite && self.part.client == 0 {
            session
                .create(&self.part.path(TIMESTAMP_FILE), Vec::new())
                .await?;
        }
        let file = session.open(&path, phase.writes()).await?;
        let easy_transfers = self.ranks.so_far().easy_transfers;
        let mut buffer = BytesMut::new();
        let repeated = self.repeat(async |index| {
            let transfer = self.plan.transfer(phase, owner, index, easy_transfers);
            let latency_ns = if phase.writes() {
                timed_write(session, &file, contents, transfer, &mut buffer).await?
            } else {
                timed_read(session, &file, contents, transfer, &path).await?
            };
            tally.add(latency_ns, u64::from(transfer.length));
            Ok(())
        });
        repeated.await?;
        if phase.writes() {
            session.flush(&file).await?;
        }
        session.close(file).await
    }

    async fn small_files<S: Session>(&self, session: &S, tally: &Tally) -> anyhow::Result<()> {
        let owner = self.owner();
        let repeated = self.repeat(async |index| {
            let path = self
                .part
                .path(&Io500Plan::small_file(self.phase, owner, index));
            let contents = Io500Plan::small_contents(self.phase, owner, index);
            let started = Instant::now();
            self.small_file(session, &path, contents).await?;
            tally.add(started.elapsed().as_nanos() as u64, 0);
            Ok(())
        });
        repeated.await
    }

    async fn small_file<S: Session>(
        &self,
        session: &S,
        path: &str,
        contents: Vec<u8>,
    ) -> anyhow::Result<()> {
        match self.phase {
            Io500Phase::MdtestEasyWrite | Io500Phase::MdtestHardWrite => {
                session.create(path, contents).await
            }
            Io500Phase::MdtestEasyStat | Io500Phase::MdtestHardStat => {
                let (size, expected) = (session.size(path).await?, contents.len() as u64);
                ensure!(
                    size == expected,
                    "{path} has {size} bytes instead of {expected}"
                );
                Ok(())
            }
            Io500Phase::MdtestHardRead => {
                let data = session.read(path, contents.len() as u32).await?;
                ensure!(data == contents, "{path} does not hold what was written");
                Ok(())
            }
            _ => session.unlink(path).await,
        }
    }

    /// Searches this rank's share of the tree. `coordinator` adds up what all ranks find.
    async fn find<S: Session>(&self, session: &S, tally: &Tally) -> anyhow::Result<()> {
        let (name_part, size_bytes) = Io500Plan::wanted();
        let wanted = Wanted {
            name_part,
            size_bytes,
            newer_than: &self.part.path(TIMESTAMP_FILE),
            rank: self.part.client,
            ranks: self.plan.ranks,
        };
        let started = Instant::now();
        let found = session.find(self.part.directory, &wanted).await?;
        tally.add(started.elapsed().as_nanos() as u64, 0);
        tally.found(found);
        Ok(())
    }
}
