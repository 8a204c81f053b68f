//! Bursts in and after which losses of power undo what was not synchronized. The reference does not
//! apply then. All that clients have made durable must be there, no session sees that its work is
//! undone, the records of all servers must fit together, and everything must come to an end.

use super::Burst;
use super::judgement::describe;
use super::loss::known;
use super::promises::{Promises, Worker, broken, make_directory};
use super::run::{Failure, FailureKind, GRACE, LEASE, NO_PLACE, Run, failure};
use super::script::Script;
use crate::check::{History, repeated};
use crate::cluster::{Cluster, DiskFaults};
use crate::random::Random;
use futago_base::{Duration, Name};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// No burst takes longer.
const END: Duration = Duration::from_secs(1000);
/// The clients that make their files durable.
const WORKERS: usize = 2;

/// Events since the first of these bursts.
struct Since {
    history: Rc<RefCell<History>>,
    workers: Vec<Working>,
}

/// A directory of durable files, and the client that works in it.
struct Working {
    client: usize,
    promises: Rc<RefCell<Promises>>,
}

impl Since {
    /// An identity that was given to two durable files.
    fn made_twice(&self) -> Option<String> {
        let mut known = BTreeSet::new();
        let workers = self.workers.iter();
        let mut made = workers.flat_map(|working| working.promises.borrow().made.clone());
        let twice = made.find(|id| !known.insert(*id))?;
        Some(format!("{twice} is given twice\n"))
    }
}

impl Run {
    /// Runs the bursts from that on in which the power fails, and checks what came of all of them.
    pub fn undo(&mut self, bursts: &[Burst]) -> Result<(), Failure> {
        let mut since = Since {
            history: Rc::new(RefCell::new(History::new())),
            workers: Vec::new(),
        };
        self.disk_faults = DiskFaults::Undoing;
        let verdict = self.judge_outages(&mut since, bursts);
        self.note_coverage();
        verdict.map_err(|failure| Failure {
            text: failure.text + &describe(&since.history.borrow()),
            ..failure
        })
    }

    fn judge_outages(&mut self, since: &mut Since, bursts: &[Burst]) -> Result<(), Failure> {
        for number in 0..WORKERS {
            let working = self.begin_working(number)?;
            since.workers.push(working);
        }
        self.world.run(self.network_time(), |_| false);
        let before = self.check_records()?;
        for burst in bursts {
            self.burst_of_outage(since, burst)?;
        }
        let repeated = repeated(&before, &since.history.borrow());
        match repeated.or_else(|| since.made_twice()) {
            Some(text) => Err(failure(FailureKind::Order, text)),
            None => self.everything_works(),
        }
    }

    fn begin_working(&mut self, number: usize) -> Result<Working, Failure> {
        let name = Name::new(format!("durable{number}")).unwrap_or(Name::least());
        let made = |errno| format!("cannot make a directory: {errno:?}\n");
        let directory =
            self.finish(|core| async move { make_directory(&core, name).await.map_err(made) })?;
        let random = Random::new(self.seed, 3000 + number as u64);
        Ok(Working {
            client: self.add_client(NO_PLACE),
            promises: Promises::new(directory, random),
        })
    }

    fn burst_of_outage(&mut self, since: &mut Since, burst: &Burst) -> Result<(), Failure> {
        self.begin_faults(burst);
        for working in &since.workers {
            working.promises.borrow_mut().is_over = false;
            self.work(working, burst.idle);
        }
        let known = known(&self.tree, &since.history.borrow());
        let scripts = burst.scripts.iter().map(|steps| {
            let history = since.history.clone();
            Script::new(steps, burst.idle, known.clone(), history, None)
        });
        let scripts: Vec<Rc<Script>> = scripts.collect();
        for (client, script) in self.clients.clone().into_iter().zip(&scripts) {
            self.follow(client, script);
            self.world.run_client(client);
        }
        let ended = self.run_through(since, &scripts);
        let progress = self.rest_after_outage(since);
        if !ended {
            let text = "an operation does not end\n";
            return Err(failure(FailureKind::Slow, text));
        }
        progress?;
        self.check_records()?;
        self.check_promises(since)
    }

    /// Has the client of a directory work.
    fn work(&mut self, working: &Working, idle: Duration) {
        let node = &mut self.world.cluster.clients[working.client];
        let worker = Worker::new(node.core.clone(), working.promises.clone());
        node.spawn(worker.work(idle));
        self.world.run_client(working.client);
    }

    /// Runs until all scripts are done and all servers are back. Clients that lose their sessions
    /// are replaced.
    fn run_through(&mut self, since: &mut Since, scripts: &[Rc<Script>]) -> bool {
        let end = self.world.now + END;
        let all_back = self.all_back;
        loop {
            let mut all = self.clients.clone();
            all.extend(since.workers.iter().map(|working| working.client));
            let has_lost = |cluster: &Cluster| {
                let mut clients = all.iter();
                clients.any(|&client| !cluster.clients[client].is_alive())
            };
            let are_done = || scripts.iter().all(|script| script.is_done());
            let until = if are_done() { all_back } else { end };
            let span = until.since(self.world.now);
            let is_over = |cluster: &Cluster| has_lost(cluster) || until == end && are_done();
            let is_event = self.world.run(span, is_over);
            match (is_event, are_done()) {
                (false, is_done) => return is_done,
                (true, _) => self.replace(since, scripts),
            }
        }
    }

    /// Replaces the clients that have lost their sessions.
    fn replace(&mut self, since: &mut Since, scripts: &[Rc<Script>]) {
        for place in 0..self.clients.len() {
            if let Some(client) = self.replaced(self.clients[place], place) {
                self.clients[place] = client;
                if let Some(script) = scripts.get(place).filter(|script| !script.is_done()) {
                    self.follow(client, script);
                    self.world.run_client(client);
                }
            }
        }
        for working in &mut since.workers {
            // The operation of the lost session may take effect until everything has come to rest,
            // so the next one begins to work in the next burst.
            if let Some(client) = self.replaced(working.client, NO_PLACE) {
                working.client = client;
            }
        }
    }

    /// The client in the place of one that has lost its session.
    fn replaced(&mut self, client: usize, place: usize) -> Option<usize> {
        if self.world.cluster.clients[client].is_alive() {
            return None;
        }
        self.world.cluster.disconnect(client);
        Some(self.add_client(place))
    }

    /// Lets everything come to rest, which is the phase of progress.
    fn rest_after_outage(&mut self, since: &mut Since) -> Result<(), Failure> {
        for working in &since.workers {
            working.promises.borrow_mut().is_over = true;
        }
        self.heal();
        let progress = self.begin_progress();
        let span = Duration(2 * LEASE.0 + GRACE.0 + self.network_time().0);
        self.world.run(span, |_| false);
        self.replace(since, &[]);
        self.end_progress(&progress)
    }

    fn check_promises(&mut self, since: &Since) -> Result<(), Failure> {
        for Working { promises, .. } in &since.workers {
            let promises = promises.clone();
            let read = |errno| format!("cannot read what is durable: {errno:?}\n");
            let broken = self.finish(|core| async move {
                let broken = broken(&core, promises).await;
                broken.map_err(read)
            })?;
            if !broken.is_empty() {
                return Err(failure(FailureKind::Order, broken.concat()));
            }
        }
        Ok(())
    }
}
