//! Bursts in which a server stops and returns empty.

use super::exercise::{exercise, inspect};
use super::judgement::describe;
use super::run::{Failure, FailureKind, GRACE, LEASE, NETWORK, NO_PLACE, Run, failure};
use super::script::Script;
use super::{Burst, Known, Restart, Stop};
use crate::check::{History, Loss, Marks, Record};
use crate::cluster::{Cluster, DiskFaults, Ending, Event, Faults, SimulatedContext};
use crate::model::{Outcome, Tree};
use futago_base::{Duration, Time};
use futago_client::Client;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// No burst takes longer, and nothing that is done after all of them.
const END: Duration = Duration::from_secs(1000);
/// No operation takes longer: servers are asked for a minute, and more than once.
const OPERATION_MAX: Duration = Duration::from_secs(200);
/// Until all have heard of a new life, and what sessions held is given up.
const SETTLING: Duration = Duration(3 * LEASE.0 + GRACE.0 + NETWORK.0);

/// Events since a server stopped.
struct Since {
    history: Rc<RefCell<History>>,
    marks: Rc<RefCell<Marks>>,
    stop: Stop,
    away: (Time, Time),
    expired: Vec<usize>,
}

impl Run {
    /// Runs the bursts from that on in which a server stops, and checks what came of all of them.
    pub fn lose(&mut self, stop: Stop, bursts: &[Burst]) -> Result<(), Failure> {
        let mut since = Since {
            history: Rc::new(RefCell::new(History::new())),
            marks: Rc::new(RefCell::new(Marks::new(&self.tree))),
            stop,
            away: (self.world.now + stop.from, self.world.now + stop.end()),
            expired: Vec::new(),
        };
        let mut lives = vec![
            (stop.from, Event::Stop(stop.server, Ending::Process)),
            (stop.to, Event::Begin(stop.server, stop.incarnation)),
        ];
        if let Some(Restart { at, incarnation }) = stop.again {
            lives.push((at, Event::Begin(stop.server, incarnation)));
        }
        self.world.schedule(lives);
        let verdict = self.judge_loss(&mut since, bursts);
        self.note_coverage();
        verdict.map_err(|failure| Failure {
            text: failure.text + &describe(&since.history.borrow()),
            ..failure
        })
    }

    fn judge_loss(&mut self, since: &mut Since, bursts: &[Burst]) -> Result<(), Failure> {
        for burst in bursts {
            self.burst_of_loss(since, burst)?;
        }
        let history = since.history.take();
        let found = self.mistake(since, &history);
        since.history.replace(history);
        found?;
        self.everything_works()?;
        let map = self.world.cluster.map.clone();
        let listings = self.finish(|core| async move { inspect(&core, &map).await })?;
        let history = since.history.borrow();
        let mut left = self.world.cluster.damages.clone();
        left.extend(self.with_loss(since, &history, |loss| loss.unexplained(&listings)));
        if left.is_empty() {
            return Ok(());
        }
        Err(failure(FailureKind::Damage, left.join("\n") + "\n"))
    }

    fn burst_of_loss(&mut self, since: &mut Since, burst: &Burst) -> Result<(), Failure> {
        self.begin_faults(burst);
        let scripts = self.begin_scripts(since, burst);
        let ended = self.run_replacing(since, &scripts);
        let now = self.world.now;
        self.world
            .cluster
            .network
            .set_faults(Faults::default(), now);
        self.world.cluster.set_disk_faults(DiskFaults::None);
        let away = since.away.1.since(now);
        self.world.run(Duration(away.0 + SETTLING.0), |_| false);
        self.replace_expired(since, &[]);
        if ended {
            punctual(&since.history.borrow())
        } else {
            let text = "an operation does not end\n";
            Err(failure(FailureKind::Slow, text))
        }
    }

    fn begin_scripts(&mut self, since: &Since, burst: &Burst) -> Vec<Rc<Script>> {
        let known = known(&self.tree, &since.history.borrow());
        let scripts = burst.scripts.iter().map(|steps| {
            let (history, marks) = (since.history.clone(), since.marks.clone());
            Script::new(steps, burst.idle, known.clone(), history, Some(marks))
        });
        let scripts: Vec<Rc<Script>> = scripts.collect();
        for (client, script) in self.clients.clone().into_iter().zip(&scripts) {
            self.follow(client, script);
            self.world.run_client(client);
        }
        scripts
    }

    /// Runs until all scripts are done; who loses its session begins a new one and goes on.
    fn run_replacing(&mut self, since: &mut Since, scripts: &[Rc<Script>]) -> bool {
        let end = self.world.now + END;
        loop {
            let clients = self.clients.clone();
            let is_over = |cluster: &Cluster| {
                let mut clients = clients.iter();
                scripts.iter().all(|script| script.is_done())
                    || clients.any(|&client| !cluster.clients[client].is_alive())
            };
            if !self.world.run(end.since(self.world.now), is_over) {
                return false;
            }
            if scripts.iter().all(|script| script.is_done()) {
                return true;
            }
            self.replace_expired(since, scripts);
        }
    }

    fn replace_expired(&mut self, since: &mut Since, scripts: &[Rc<Script>]) {
        for place in 0..self.clients.len() {
            let client = self.clients[place];
            if self.world.cluster.clients[client].is_alive() {
                continue;
            }
            since.expired.push(client);
            self.world.cluster.disconnect(client);
            self.clients[place] = self.add_client(place);
            if let Some(script) = scripts.get(place).filter(|script| !script.is_done()) {
                self.follow(self.clients[place], script);
                self.world.run_client(self.clients[place]);
            }
        }
    }

    fn mistake(&self, since: &Since, history: &History) -> Result<(), Failure> {
        let mut marks = since.marks.borrow_mut();
        match self.with_loss(since, history, |loss| loss.mistake(&mut marks)) {
            Some(text) => Err(failure(FailureKind::Order, text)),
            None => Ok(()),
        }
    }

    fn with_loss<T>(
        &self,
        since: &Since,
        history: &History,
        ask: impl FnOnce(&Loss<'_>) -> T,
    ) -> T {
        let stores = self.world.cluster.stores();
        ask(&Loss {
            map: &self.world.cluster.map,
            server: since.stop.server,
            lost: &self.world.cluster.lost,
            stores: &stores,
            away: since.away,
            before: &self.tree,
            history,
            expired: &since.expired,
            setting: self.setting,
            sends_at_once: self.write_back.dirty_bytes_max == 0,
        })
    }

    /// New nodes work on all servers.
    pub(super) fn everything_works(&mut self) -> Result<(), Failure> {
        let done = self.finish(|core| async move { exercise(&core).await });
        self.world.run(SETTLING, |_| false);
        done
    }

    /// Has a new client do something, which must end without an error.
    pub(super) fn finish<T: 'static, F>(
        &mut self,
        task: impl FnOnce(Rc<Client<SimulatedContext>>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, String>> + 'static,
    {
        let client = self.add_client(NO_PLACE);
        let node = &mut self.world.cluster.clients[client];
        let result = Rc::new(RefCell::new(None));
        let (slot, future) = (result.clone(), task(node.core.clone()));
        node.spawn(async move { *slot.borrow_mut() = Some(future.await) });
        self.world.run_client(client);
        let is_idle = |_: &Cluster| result.borrow().is_some();
        self.world.run(END, is_idle);
        match result.take() {
            Some(done) => done.map_err(|text| failure(FailureKind::Error, text)),
            None => Err(failure(FailureKind::Slow, "what is new does not end\n")),
        }
    }
}

/// The nodes before, and the nodes created since.
pub(super) fn known(tree: &Tree, history: &History) -> Known {
    let mut known = Known::of(tree);
    for record in history {
        if let Some((_, Ok(Outcome::File(state, true)))) = &record.returned {
            known.learn(state.attributes.id, state.attributes.kind);
        }
    }
    known
}

fn punctual(history: &History) -> Result<(), Failure> {
    let is_late = |record: &&Record| {
        let took = record
            .returned
            .as_ref()
            .map(|(at, _)| at.since(record.called));
        took.is_some_and(|took| took > OPERATION_MAX)
    };
    match history.iter().find(is_late) {
        Some(record) => Err(failure(
            FailureKind::Slow,
            format!("took too long: {record:?}\n"),
        )),
        None => Ok(()),
    }
}
