//! How a server stops, goes on with what it had, or begins a new life.

use super::{Losses, ServerNode};
use crate::check::differences;
use crate::cluster::{
    Defect, Mark,
    core::FlawedCore,
    disk::{Disk, DiskConfig, Ending, Fault},
};
use crate::random::Random;
use futago_base::{Duration, FileId, Incarnation, Moment, Store as _, Time};
use futago_driver::{Receiver, ServerDriver};
use futago_server::{Input, Server};
use futago_store::{DataPlace, Identity, MemoryStore, Recovered, ServerStore, StoreError};
use futago_wire::Frame;
use std::collections::BTreeSet;

/// The owner of a server's store.
fn identity(server: &Server) -> Identity {
    Identity {
        cluster: 0,
        server: server.id(),
        incarnation: server.incarnation(),
    }
}

/// An empty store of a server without a disk.
pub fn in_memory(server: &Server, memory_bytes: u64) -> ServerStore {
    let (store, _) = ServerStore::in_memory(identity(server), memory_bytes);
    store
}

impl ServerNode {
    /// Gives the server, which has not served yet, an empty disk.
    pub fn put_on_disk(&mut self, config: DiskConfig, seed: u64) {
        let owner = identity(self.driver.server());
        self.disk = Some(Disk::new(config, self.memory_bytes, owner, seed));
        self.begin_with(self.driver.server().clone(), Time(0).into());
        if let Some(disk) = &mut self.disk {
            match self.defect {
                Some(Defect::SynchronizesNothing) => disk.ignore_synchronization(),
                Some(Defect::RepeatsFailedSyncs) => disk.repeat_synchronization(),
                _ => {}
            }
        }
    }

    /// Begins with an empty store. Returns the former one.
    fn begin_with(&mut self, server: Server, now: Moment) -> ServerStore {
        let store = match self.opened() {
            Some((store, _)) => store,
            None => in_memory(&server, self.memory_bytes),
        };
        let core = FlawedCore::new(server, self.defect);
        let driver = ServerDriver::new(core, store, self.admission, now);
        let former = std::mem::replace(&mut self.driver, driver).into_store();
        let written = self.write_first();
        self.succeeds(written);
        former
    }

    /// Makes the beginning durable: the cluster does not serve before that.
    fn write_first(&mut self) -> Result<(), StoreError> {
        let store = self.driver.store_mut();
        store.persist()?;
        if let Some(work) = store.begin_synchronization()? {
            work.run()?;
            store.end_synchronization(&work);
        }
        Ok(())
    }

    /// The store on its disk. If it cannot be opened, that is a mistake.
    fn opened(&mut self) -> Option<(ServerStore, Recovered)> {
        let opened = self.disk.as_ref()?.open();
        self.succeeds(opened)
    }

    /// It stops: it hears nothing until it goes on or begins a new life.
    pub fn stop(&mut self, ending: Ending, now: Time) {
        self.passed.add_if(ending == Ending::Power, Mark::PowerLost);
        if self.stopped.is_none() || ending == Ending::Power {
            self.end(ending, now);
        }
    }

    /// It ends because its disk has failed, and comes back after a while.
    pub(super) fn end_without_disk(&mut self, fault: Fault) {
        self.passed.add(Mark::DiskFailed);
        self.passed
            .add_if(fault == Fault::Drop, Mark::WritesDropped);
        if self.defect == Some(Defect::TrustsFailedSyncs)
            && let Some(disk) = &self.disk
        {
            disk.remove_doubt();
        }
        // It is away since its latest decision.
        self.end(Ending::Failure, Time(0));
        self.returns = self.disk.as_mut().map(Disk::draw_return);
    }

    fn end(&mut self, ending: Ending, now: Time) {
        self.stopped = Some(now);
        self.places.clear();
        if self.disk.is_some() {
            self.reopen(ending);
        }
    }

    /// Opens what is on the disk after the end of the server.
    fn reopen(&mut self, ending: Ending) {
        let store = in_memory(self.driver.server(), self.memory_bytes);
        let former = std::mem::replace(self.driver.store_mut(), store);
        let Some(disk) = &mut self.disk else { return };
        disk.end(ending);
        if ending == Ending::Process {
            self.passed.add(Mark::DamageTried);
            self.mistakes.extend(disk.hides_damage(self.written[0]));
        }
        let bytes = disk.log_bytes();
        let opened = self.opened();
        let Some((store, recovered)) = opened else {
            return;
        };
        self.look_at_opened(ending, &former, &store, recovered);
        if let Some(disk) = &mut self.disk {
            self.passed
                .add_if(disk.log_bytes() < bytes, Mark::TornTailCut);
            disk.note_files(&mut self.passed);
        }
        self.go_on_with(store, recovered);
    }

    /// Changes bits of data on its disk while it is stopped, and has nothing in memory any more.
    /// Returns the files whose data is damaged.
    pub fn damage(&mut self, random: &mut Random) -> BTreeSet<FileId> {
        let places = self.driver.store().data_places();
        let Some(disk) = self.disk.as_ref().filter(|_| !places.is_empty()) else {
            return BTreeSet::new();
        };
        let place = random.pick(&places);
        disk.damage(place, random);
        let is_damaged = |other: &&DataPlace| (&other.file, other.at) == (&place.file, place.at);
        let damaged = places.iter().filter(is_damaged);
        let damaged = damaged.map(|place| place.chunk.file).collect();
        if let Some((store, recovered)) = self.opened() {
            self.go_on_with(store, recovered);
        }
        damaged
    }

    /// Has another store, opened anew.
    fn go_on_with(&mut self, store: ServerStore, recovered: Recovered) {
        let core = self.driver.core_mut().clone();
        let position = store.position();
        // Of a log that has lost its end, the last write is unknown.
        let is_whole = self.written[1] <= position;
        self.written = [if is_whole { self.written[0] } else { 0 }, position];
        self.driver = ServerDriver::resume(core, store, self.admission, recovered.decided);
    }

    fn look_at_opened(
        &mut self,
        ending: Ending,
        former: &ServerStore,
        store: &ServerStore,
        recovered: Recovered,
    ) {
        match ending {
            Ending::Process => {
                let different = differences(former.memory(), store.memory());
                self.mistakes.extend(different);
            }
            Ending::Failure => {}
            Ending::Power => {
                let is_shorter = store.position() < former.position();
                self.passed.add_if(is_shorter, Mark::EntriesLost);
            }
        }
        if recovered.may_have_lost {
            self.losses = Losses::Undone;
        }
        // A disk may fail before a loss of power is settled.
        let is_impossible = ending == Ending::Process || store.confirms_durable();
        if recovered.may_have_lost && is_impossible {
            let text = String::from("seems to have lost what clients have seen");
            self.mistakes.push(text);
        }
    }

    /// How long it waits before it goes on, because clients may rely for a lease on what a loss of
    /// power has undone.
    pub fn outwaits_clients(&mut self, now: Time, lease: Duration) -> Option<Duration> {
        self.stopped?;
        let until = match self.losses {
            Losses::None => return None,
            Losses::Undone => now + lease,
            Losses::Outwaited(until) => until,
        };
        self.losses = Losses::Outwaited(until);
        (now < until).then(|| until.since(now))
    }

    /// It goes on with the records and data that it had, and with nothing else. Returns what is to
    /// be sent.
    pub fn resume(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        let Some(stopped) = self.stopped.take() else {
            return Vec::new();
        };
        self.passed.add(Mark::ServerResumed);
        let decided = self.driver.decided();
        self.missed = match self.disk {
            // The steady clock goes on where the latest decision was made.
            Some(_) => Duration((now + self.clock_ahead).since(decided.steady).0),
            None => Duration(self.missed.0 + now.since(stopped).0),
        };
        let empty = in_memory(self.driver.server(), self.memory_bytes);
        let mut store = std::mem::replace(self.driver.store_mut(), empty);
        if let Some(defect) = self.defect {
            defect.alter_resumed(&mut store, decided);
        }
        let core = self.driver.core_mut().clone();
        self.driver = ServerDriver::resume(core, store, self.admission, decided);
        self.settle_losses(now)
    }

    fn settle_losses(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        let now = self.clocks(now);
        if std::mem::replace(&mut self.losses, Losses::None) != Losses::None {
            self.passed.add(Mark::ServerSetBack);
            self.driver.handle(Input::Lost, now);
        }
        let outputs = self.release(now);
        self.send(outputs, now)
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
        if let Some(disk) = &mut self.disk {
            disk.empty(server.incarnation());
        }
        self.written = [0, 0];
        let now = self.clocks(now);
        self.begin_with(server, now).into_memory()
    }
}
