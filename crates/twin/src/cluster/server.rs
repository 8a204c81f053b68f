//! A server: the real core, driver and store.

use super::{
    Coverage, Defect, Mark,
    clock::WallClock,
    core::FlawedCore,
    defect::refused,
    places::{Places, is_known, request_of},
};
use futago_base::{
    ClusterMap, Duration, FileId, Incarnation, Moment, RequestId, ServerId, SessionId, Store as _,
    Time,
};
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
    /// The requests that are under way here.
    places: Places,
    passed: Coverage,
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
        mut admission: AdmissionConfig,
        defect: Option<Defect>,
    ) -> Self {
        let mut config = config.clone();
        let places = Places::new(admission);
        if let Some(defect) = defect {
            defect.alter_server(&mut config);
            defect.alter_admission(&mut admission);
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
            places,
            passed: Coverage::default(),
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

    /// Requests beyond what the server may have under way since the last call, one line each.
    pub fn take_mistakes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.places.mistakes)
    }

    /// The recovery paths that it has passed through since the last call.
    pub fn take_passed(&mut self) -> Coverage {
        let mut passed = std::mem::take(&mut self.passed);
        passed.join(std::mem::take(&mut self.driver.core_mut().passed));
        passed
    }

    /// Nobody waits for the answers to a session's requests any more.
    pub fn disconnect(&mut self, session: SessionId) {
        self.driver.forget(session);
        self.places.forget(session);
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
        self.places.clear();
        self.passed.add(Mark::ServerResumed);
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
        self.places.clear();
        self.passed.add(Mark::ServerEmptied);
        let core = FlawedCore::new(server, self.defect);
        let store = MemoryStore::new(self.memory_bytes);
        let driver = ServerDriver::new(core, store, self.admission, self.clocks(now));
        std::mem::replace(&mut self.driver, driver).into_store()
    }

    /// Handles a message and returns what is to be sent.
    pub fn receive(&mut self, frame: Frame, now: Time) -> Vec<(Receiver, Frame)> {
        let id = request_of(&frame);
        if self.stopped.is_some() {
            return Vec::new();
        }
        let was_known = id.is_some_and(|id| is_known(self.store(), id));
        self.places.arrive(&frame);
        let now = self.clocks(now);
        self.driver.receive(frame, now);
        let outputs = self.release();
        self.keep_refused(&outputs);
        if let Some(id) = id {
            self.check_request(id, was_known, &outputs);
        }
        self.send(outputs, now)
    }

    /// Does what is due and returns what is to be sent.
    pub fn tick(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let now = self.clocks(now);
        self.driver.handle(Input::Tick, now);
        let outputs = self.release();
        self.send(outputs, now)
    }

    fn release(&mut self) -> Vec<Output> {
        let Ok(outputs) = self.driver.release();
        self.places.leave(&outputs);
        outputs
    }

    fn send(&mut self, outputs: Vec<Output>, now: Moment) -> Vec<(Receiver, Frame)> {
        let sent = outputs.into_iter().map(|output| self.sent(output, now));
        sent.collect()
    }

    /// Checks the requests under way after one of them has been handled.
    fn check_request(&mut self, id: RequestId, was_known: bool, outputs: &[Output]) {
        let store = self.driver.store();
        let taken = self.driver.admission().under_way();
        self.places.check_taken(taken, store);
        self.places.check(id, was_known, outputs, store);
        if let Some(refused) = refused(outputs).filter(|refused| *refused == id) {
            let is_asked = self.driver.core_mut().decided_last(refused);
            self.passed.add(match is_asked {
                true => Mark::WaitRefused,
                false => Mark::RequestRefused,
            });
        }
    }

    /// Makes the changes of a refused request if a defect has the server do so.
    fn keep_refused(&mut self, outputs: &[Output]) {
        let latest = &self.driver.core_mut().latest;
        let changes = self
            .defect
            .and_then(|defect| defect.keeps_waiting(outputs, latest));
        if let Some(batch) = changes {
            let decided = self.driver.decided();
            self.driver.store_mut().commit(batch, decided);
        }
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
