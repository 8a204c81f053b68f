//! A server: the real core, driver and store.

use super::{Defect, clock::WallClock, core::FlawedCore};
use futago_base::{ClusterMap, Duration, FileId, Incarnation, Moment, ServerId, SessionId, Time};
use futago_driver::{AdmissionConfig, Receiver, ServerDriver};
use futago_server::{Config, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::Frame;
use std::collections::BTreeSet;

/// A server and what it holds.
pub struct ServerNode {
    driver: ServerDriver<FlawedCore, MemoryStore>,
    memory_bytes: u64,
    admission: AdmissionConfig,
    /// Since when it does not run.
    stopped: Option<Time>,
    /// The time that has not passed for it.
    missed: Duration,
    defect: Option<Defect>,
    /// How far its clock is ahead of the true time.
    pub clock_ahead: Duration,
    /// Its wall clock, as far as it has stepped.
    pub wall: WallClock,
}

impl ServerNode {
    /// A new server with so much memory, and perhaps a defect. It takes on no more requests at a
    /// time than `admission` says.
    pub fn new(
        id: ServerId,
        map: &ClusterMap,
        config: &Config,
        memory_bytes: u64,
        admission: AdmissionConfig,
        defect: Option<Defect>,
    ) -> Self {
        let mut config = config.clone();
        if let Some(defect) = defect {
            defect.alter_server(&mut config);
        }
        let core = FlawedCore::new(Server::new(id, map.clone(), config), defect);
        let store = MemoryStore::new(memory_bytes);
        Self {
            driver: ServerDriver::new(core, store, admission, Time(0)),
            memory_bytes,
            admission,
            stopped: None,
            missed: Duration(0),
            defect,
            clock_ahead: Duration(0),
            wall: WallClock::default(),
        }
    }

    /// Its store.
    pub const fn store(&self) -> &MemoryStore {
        self.driver.store()
    }

    /// Files of which it has noted something about truncations since the last call.
    pub fn take_unchecked(&mut self) -> BTreeSet<FileId> {
        std::mem::take(&mut self.driver.core_mut().unchecked)
    }

    /// Nobody waits for the answers to a session's requests any more.
    pub fn disconnect(&mut self, session: SessionId) {
        self.driver.forget(session);
    }

    /// It stops: it hears nothing until it goes on or begins a new life.
    pub const fn stop(&mut self, now: Time) {
        self.stopped = Some(now);
    }

    /// It goes on with the records and data that it had, and with nothing else.
    pub fn resume(&mut self, now: Time) {
        let Some(stopped) = self.stopped.take() else {
            return;
        };
        self.missed = Duration(self.missed.0 + now.since(stopped).0);
        let empty = MemoryStore::new(self.memory_bytes);
        let mut store = std::mem::replace(self.driver.store_mut(), empty);
        if let Some(defect) = self.defect {
            defect.alter_resumed(&mut store);
        }
        let (core, decided) = (self.driver.core_mut().clone(), self.driver.decided());
        self.driver = ServerDriver::resume(core, store, self.admission, decided);
    }

    /// Begins a new life with an empty store; returns what the last one held.
    pub fn begin_life(&mut self, drawn: Incarnation, now: Time) -> MemoryStore {
        let last = self.driver.server();
        let begun = self
            .defect
            .map(|defect| defect.alter_life(last.incarnation(), drawn));
        let server = last.clone().in_life(begun.unwrap_or(drawn));
        self.stopped = None;
        let core = FlawedCore::new(server, self.defect);
        let store = MemoryStore::new(self.memory_bytes);
        let driver = ServerDriver::new(core, store, self.admission, self.clocks(now));
        std::mem::replace(&mut self.driver, driver).into_store()
    }

    /// Handles a message and returns what is to be sent.
    pub fn receive(&mut self, frame: Frame, now: Time) -> Vec<(Receiver, Frame)> {
        self.act(now, |driver, now| driver.receive(frame, now))
    }

    /// Does what is due and returns what is to be sent.
    pub fn tick(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        self.act(now, |driver, now| driver.handle(Input::Tick, now))
    }

    fn act(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut ServerDriver<FlawedCore, MemoryStore>, Moment),
    ) -> Vec<(Receiver, Frame)> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let now = self.clocks(now);
        act(&mut self.driver, now);
        let Ok(outputs) = self.driver.release();
        let sent = outputs.into_iter().map(|output| self.sent(output, now));
        sent.collect()
    }

    /// The readings of its clocks at a time of the world.
    fn clocks(&self, now: Time) -> Moment {
        let Moment { steady, stamp } = self.wall.moment(now + self.clock_ahead);
        let steady = steady - self.missed;
        Moment { steady, stamp }
    }

    fn sent(&mut self, output: Output, now: Moment) -> (Receiver, Frame) {
        let (receiver, mut frame) = self.driver.frame(output, now.stamp);
        if let Some(defect) = self.defect {
            defect.alter_sent(&mut frame);
        }
        (receiver, frame)
    }
}
