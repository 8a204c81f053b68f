//! A client: the real core, and the tasks that run on it.

use super::{Defect, SimulatedContext, context::CALLS, defect::Resent};
use futago_base::{ClusterMap, Duration, ServerId, SessionId, Time};
use futago_client::{Client, Config, Context as _, first_of};
use futago_driver::CallsConfig;
use futago_wire::{Body, Failure, Frame, Header, Push};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A client says this often that a copy is coming.
const COMING_AFTER: Duration = Duration::from_millis(10);

/// The waker of a task: the task runs again when its client does.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    flag: Arc<Flag>,
}

/// A client of the simulated cluster.
pub struct ClientNode {
    /// The core that its tasks work with.
    pub core: Rc<Client<SimulatedContext>>,
    tasks: Vec<Task>,
    /// How often it shows that it lives, and when next.
    keep_alive: (Duration, Time),
    /// How many more messages it sends before it dies.
    lifetime: Option<u64>,
    alive: bool,
    expired: bool,
    messages: u64,
    defect: Option<Defect>,
    resent: Resent,
}

impl ClientNode {
    pub(super) fn new(
        session: SessionId,
        map: &ClusterMap,
        mut config: Config,
        keep_alive: Duration,
        seed: u64,
        now: Time,
        defect: Option<Defect>,
    ) -> Self {
        let mut map = map.clone();
        if let Some(defect) = defect {
            defect.alter_client(&mut config);
            map = defect.alter_map_of_client(map);
        }
        let mut calls = CallsConfig {
            leases: config.lease_trust.is_some(),
            ..CALLS
        };
        if defect == Some(Defect::GivesUpWhenBusy) {
            calls.busy_give_up = Duration(0);
        }
        let context = SimulatedContext::new(session, map.epoch(), calls, seed, now, defect);
        Self {
            core: Rc::new(Client::new(context, map, config)),
            tasks: Vec::new(),
            keep_alive: (keep_alive, now + keep_alive),
            lifetime: None,
            alive: true,
            expired: false,
            messages: 0,
            defect,
            resent: Resent::default(),
        }
    }

    /// Its session.
    pub fn session(&self) -> SessionId {
        self.core.context().session()
    }

    /// Whether it lives.
    pub const fn is_alive(&self) -> bool {
        self.alive
    }

    /// Whether a server has replied that its session is over. It is as good as dead then: what it
    /// does next belongs to another session.
    pub const fn has_expired(&self) -> bool {
        self.expired
    }

    /// Whether it has nothing left to do.
    pub const fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How many messages it has sent.
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// The numbers of its requests that have no reply.
    pub fn unanswered(&self) -> Vec<u64> {
        self.core.context().unanswered()
    }

    /// Starts a task; it runs when the client is run.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'static) {
        self.tasks.push(Task {
            future: Box::pin(future),
            flag: Arc::new(Flag(AtomicBool::new(true))),
        });
    }

    /// It will die right after it has sent `messages` more, or not at all.
    pub const fn die_after(&mut self, messages: Option<u64>) {
        self.lifetime = messages;
    }

    /// Its wall clock steps.
    pub(super) fn step_clock(&self, by_ns: i64) {
        self.core.context().0.borrow_mut().wall.step(by_ns);
    }

    /// It stops at once, wherever it is.
    pub fn kill(&mut self) {
        self.alive = false;
        self.tasks.clear();
    }

    /// It stops what it does but lives on.
    pub fn kill_tasks(&mut self) {
        self.tasks.clear();
    }

    pub(super) fn receive(&mut self, from: ServerId, mut frame: Frame, now: Time) {
        self.core.context().0.borrow_mut().now = now;
        if let Some(defect) = self.defect {
            defect.alter_returning(&mut frame);
        }
        match frame.body {
            Body::Push(Push::Recall(recalls)) if self.alive => {
                let (core, defect) = (Rc::clone(&self.core), self.defect);
                self.spawn(async move {
                    let is_over = match defect {
                        Some(defect) => defect.gives_back(&core, from, &recalls).await,
                        None => false,
                    };
                    if !is_over {
                        core.recalled(from, recalls).await;
                    }
                });
            }
            Body::Outcome(Err(Failure::SessionExpired)) if self.alive => {
                self.expired = true;
                self.kill();
            }
            _ => self.core.context().receive(from, frame),
        }
    }

    /// A message of another client has arrived.
    pub(super) fn receive_from_client(&mut self, frame: Frame, now: Time) {
        self.core.context().0.borrow_mut().now = now;
        let Body::CacheRequest(request) = frame.body else {
            return self.core.context().0.borrow_mut().sharing.receive(frame);
        };
        if !self.alive {
            return;
        }
        let (core, defect) = (Rc::clone(&self.core), self.defect);
        let Header {
            session, sequence, ..
        } = frame.header;
        self.spawn(async move {
            let mut serving = pin!(core.serve_cache(request.clone()));
            let served = loop {
                let context = core.context();
                let pause = pin!(context.sleep(COMING_AFTER));
                match first_of(serving.as_mut(), pause).await {
                    Some(served) => break served,
                    None => context.0.borrow_mut().sharing.delay(session, sequence),
                }
            };
            let answer = served.into_message();
            let mut shared = core.context().0.borrow_mut();
            shared
                .sharing
                .answer(session, sequence, request, answer, defect);
        });
    }

    /// Shares its cache from now on.
    pub fn share(&self) {
        self.core.context().0.borrow_mut().sharing.is_on = true;
    }

    /// The messages to other clients that it has sent.
    pub(super) fn take_sent_to_clients(&self) -> Vec<(SessionId, Frame)> {
        let sent = self.core.context().0.borrow_mut().sharing.take_sent();
        if self.alive { sent } else { Vec::new() }
    }

    /// Runs its tasks as far as they go.
    pub(super) fn run(&mut self, now: Time) {
        self.core.context().0.borrow_mut().now = now;
        self.core.context().wake_due();
        self.keep_alive(now);
        while let Some(at) = (0..self.tasks.len()).find(|&at| self.is_woken(at)) {
            let task = &mut self.tasks[at];
            let waker = Waker::from(task.flag.clone());
            let poll = task.future.as_mut().poll(&mut Context::from_waker(&waker));
            if poll == Poll::Ready(()) {
                drop(self.tasks.remove(at));
            }
            self.work_beside();
        }
    }

    /// Begins what the runtime of a real client does beside operations.
    fn work_beside(&mut self) {
        if !self.alive {
            return;
        }
        let core = Rc::clone(&self.core);
        while let Some(wanted) = at_once(core.wanted_ahead()) {
            let core = Rc::clone(&core);
            self.spawn(async move { core.read_ahead(wanted).await });
        }
        while let Some(leaving) = at_once(core.wanted_forwarding()) {
            let core = Rc::clone(&core);
            self.spawn(async move { core.forward(leaving).await });
        }
    }

    /// Shows that it lives, whether or not the last time has been answered.
    fn keep_alive(&mut self, now: Time) {
        let (period, due) = self.keep_alive;
        if self.alive && due <= now {
            self.keep_alive = (period, now + period);
            let core = Rc::clone(&self.core);
            self.spawn(async move {
                // Operations notice by themselves that a server does not reply.
                let _ = core.keep_alive().await;
            });
        }
    }

    fn is_woken(&self, at: usize) -> bool {
        self.tasks[at].flag.0.swap(false, Ordering::Relaxed)
    }

    /// The messages that it has sent. The client dies if one of them was its last.
    pub(super) fn take_sent(&mut self) -> Vec<(ServerId, Frame)> {
        let mut sent = self.core.context().take_sent();
        if !self.alive {
            return Vec::new();
        }
        if let Some(lifetime) = &mut self.lifetime {
            sent.truncate(usize::try_from(*lifetime).unwrap_or(usize::MAX));
            *lifetime -= sent.len() as u64;
            if *lifetime == 0 {
                self.kill();
            }
        }
        self.messages += sent.len() as u64;
        if let Some(defect) = self.defect {
            sent.retain_mut(|(_, frame)| defect.alter_leaving(frame, &mut self.resent));
        }
        sent
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        let due = self.core.context().next_due();
        let next = due.map_or(self.keep_alive.1, |due| due.min(self.keep_alive.1));
        self.alive.then_some(next)
    }
}

/// The output of a future that need not wait.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
