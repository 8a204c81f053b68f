//! A server: the real core, driver and store.

mod lives;

use super::{
    Coverage, Defect, Mark,
    clock::WallClock,
    core::FlawedCore,
    defect::refused,
    disk::{Begun, Disk, DiskFaults},
    places::{Places, is_known, request_of},
};
use futago_base::{
    ClusterMap, Duration, FileId, Moment, RequestId, ServerId, SessionId, Store as _, Time,
};
use futago_driver::{AdmissionConfig, Receiver, ServerDriver};
use futago_server::{Config, Input, Output, Server};
use futago_store::{MemoryStore, ServerStore, StoreError};
use futago_wire::Frame;
use std::collections::BTreeSet;

/// A server and what it holds.
pub struct ServerNode {
    driver: ServerDriver<FlawedCore, ServerStore>,
    memory_bytes: u64,
    admission: AdmissionConfig,
    disk: Option<Disk>,
    /// The positions of the store before its latest write and after it.
    written: [u64; 2],
    /// The synchronization that has begun since the cluster looked.
    begun: Option<Begun>,
    /// After how long it comes back if its disk has failed since the cluster looked.
    returns: Option<Duration>,
    /// Since when it does not run.
    stopped: Option<Time>,
    /// The time that has not passed for it.
    missed: Duration,
    losses: Losses,
    defect: Option<Defect>,
    /// The requests that are under way here.
    places: Places,
    /// Mistakes since the last look, one line each.
    mistakes: Vec<String>,
    passed: Coverage,
    /// How far its clock is ahead of the true time.
    pub clock_ahead: Duration,
    /// Its wall clock, as far as it has stepped.
    pub wall: WallClock,
}

/// The losses of what clients have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Losses {
    /// Nothing.
    None,
    /// Perhaps something, and clients may rely on it.
    Undone,
    /// Perhaps something, and no client relies on it any more from then on.
    Outwaited(Time),
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
        let (mut config, mut map) = (config.clone(), map.clone());
        let places = Places::new(admission);
        if let Some(defect) = defect {
            defect.alter_server(&mut config);
            defect.alter_admission(&mut admission);
            map = defect.alter_map_of_server(id, map);
        }
        let server = Server::new(id, map, config);
        let store = lives::in_memory(&server, memory_bytes);
        let core = FlawedCore::new(server, defect);
        Self {
            driver: ServerDriver::new(core, store, admission, Time(0)),
            memory_bytes,
            admission,
            disk: None,
            written: [0, 0],
            begun: None,
            returns: None,
            stopped: None,
            missed: Duration(0),
            losses: Losses::None,
            defect,
            places,
            mistakes: Vec::new(),
            passed: Coverage::default(),
            clock_ahead: Duration(0),
            wall: WallClock::default(),
        }
    }

    /// Its records and data.
    pub const fn store(&self) -> &MemoryStore {
        self.driver.store().memory()
    }

    /// Files of which it has noted something about truncations since the last call.
    pub fn take_unchecked(&mut self) -> BTreeSet<FileId> {
        std::mem::take(&mut self.driver.core_mut().unchecked)
    }

    /// Requests beyond what the server may have under way, and faults of its store, since the last
    /// call, one line each.
    pub fn take_mistakes(&mut self) -> Vec<String> {
        let mut mistakes = std::mem::take(&mut self.places.mistakes);
        mistakes.append(&mut self.mistakes);
        mistakes
    }

    /// After how long it comes back, if its disk has failed since the last call.
    pub const fn take_return(&mut self) -> Option<Duration> {
        self.returns.take()
    }

    /// From now on, the disk has such faults now and then.
    pub const fn set_disk_faults(&mut self, faults: DiskFaults) {
        if let Some(disk) = &mut self.disk {
            disk.set_faults(faults);
        }
    }

    /// The synchronization that has begun since the last call.
    pub const fn take_begun(&mut self) -> Option<Begun> {
        self.begun.take()
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
        let outputs = self.release(now);
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
        let outputs = self.release(now);
        self.send(outputs, now)
    }

    /// A synchronization has ended. Returns what has waited for it.
    pub fn end_synchronization(&mut self, number: u64, now: Time) -> Vec<(Receiver, Frame)> {
        let now = self.clocks(now);
        let Some(disk) = self.disk.as_mut().filter(|_| self.stopped.is_none()) else {
            return Vec::new();
        };
        disk.draw_fault();
        let ended = disk.end_synchronization(number, self.driver.store_mut());
        disk.note_files(&mut self.passed);
        if self.succeeds(ended).is_none() {
            return Vec::new();
        }
        let outputs = self.release(now);
        self.send(outputs, now)
    }

    /// Writes what was decided, and begins to synchronize it if something waits for that.
    fn release(&mut self, now: Moment) -> Vec<Output> {
        if let Some(disk) = &mut self.disk {
            disk.draw_fault();
        }
        let written = self.write(now);
        let outputs = self.succeeds(written).unwrap_or_default();
        self.places.leave(&outputs);
        outputs
    }

    fn write(&mut self, now: Moment) -> Result<Vec<Output>, StoreError> {
        let mut outputs = self.take_early();
        outputs.extend(self.driver.release()?);
        if let Some(defect) = self.defect {
            defect.serve_damaged(&mut outputs, &self.driver.core_mut().replies);
        }
        if let Some(disk) = &mut self.disk
            && let Some(begun) = disk.begin_synchronization(&mut self.driver, now.steady)?
        {
            self.begun = Some(begun);
        }
        self.note_written();
        Ok(outputs)
    }

    /// All of the store is written.
    fn note_written(&mut self) {
        let position = self.driver.store().position();
        if self.written[1] < position {
            self.written = [self.written[1], position];
        }
    }

    /// The outputs that a defect has leave before they are durable.
    fn take_early(&mut self) -> Vec<Output> {
        let early = std::mem::take(&mut self.driver.core_mut().early);
        for output in &early {
            if let Output::Reply { request, .. } = output {
                self.driver.note_reply(*request);
            }
        }
        early
    }

    /// The result of an operation of the store. If its disk has failed, the server ends, because
    /// nobody knows what is on the disk.
    fn succeeds<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        let fault = self.disk.as_mut().and_then(Disk::end_fault);
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        match fault {
            Some(fault) => self.end_without_disk(fault),
            None => self.mistakes.push(error.to_string()),
        }
        None
    }

    fn send(&mut self, outputs: Vec<Output>, now: Moment) -> Vec<(Receiver, Frame)> {
        let sent = outputs.into_iter().map(|output| self.sent(output, now));
        sent.collect()
    }

    /// Checks the requests under way after one of them has been handled.
    fn check_request(&mut self, id: RequestId, was_known: bool, outputs: &[Output]) {
        let store = self.driver.store().memory();
        let taken = self.driver.admission().under_way();
        // Replies that wait for a disk take places here and not there, or the other way round.
        if self.disk.is_none() {
            self.places.check_taken(taken, store);
            self.places.check(id, was_known, outputs, store);
        }
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
