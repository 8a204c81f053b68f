//! A host: network interface, cores, and the servers and clients that run on it.

mod acting;
mod cores;
mod disk;
mod faults;
mod moment;
mod network;
mod nic;
mod pages;
mod scheduler;
mod server;

pub use cores::Cores;
pub use moment::{Consequences, Memory, Moment};
pub use network::forward;
pub use nic::transmission_ns;
pub use server::ServerProcess;

use super::ResourceClass;
use super::client::{ClientProcess, ClientUndo};
use super::event::Event;
use super::message::Party;
use super::process::{World, WorldUndo};
use super::scene::{Scene, Window};
use super::statistics::{OperationTable, Output, SourcesTable, TransactionTable, UsageTable};
use crate::random::Random;
use cores::CoresUndo;
use futago_base::ServerId;
use futago_des::{Context, Forward, Mode, Saved, Time};
use nic::Nic;
use scheduler::{Kernel, Scheduler, SchedulerUndo};
use serde::Serialize;
use server::ServerUndo;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A host: a logical process of the engine.
#[derive(Debug, Serialize)]
pub struct Host {
    #[serde(skip)]
    number: u32,
    #[serde(skip)]
    scene: Arc<Scene>,
    state: State,
    cores: Cores,
    /// How processes share the cores, if they look for messages.
    scheduler: Option<Scheduler>,
    pub servers: Vec<ServerProcess>,
    clients: Vec<ClientProcess>,
    /// Statistics of events that are certain.
    #[serde(skip)]
    pub usage: UsageTable,
    #[serde(skip)]
    pub transactions: TransactionTable,
    #[serde(skip)]
    pub sources: SourcesTable,
    /// Operations that have not begun, by phase.
    #[serde(skip)]
    pub left: BTreeMap<u32, u64>,
    #[serde(skip)]
    operations: Arc<Mutex<OperationTable>>,
    #[serde(skip)]
    out: Consequences,
}

/// The small parts of a host.
#[derive(Clone, Copy, Debug, Serialize)]
struct State {
    nic: Nic,
    memory: Memory,
    round: u32,
    round_began_ns: u64,
    /// Clients that are through with the round.
    finished: u32,
}

/// The undo of an event at a host.
#[derive(Debug)]
pub struct HostUndo {
    state: State,
    cores: CoresUndo,
    scheduler: Option<SchedulerUndo>,
    process: ProcessUndo,
}

/// The changes of an event besides the host itself.
#[derive(Debug)]
enum ProcessUndo {
    Nothing,
    Server(u32, Box<ServerUndo>),
    Client(u32, Box<ClientUndo>),
}

impl ProcessUndo {
    fn server(&mut self) -> Option<&mut ServerUndo> {
        match self {
            Self::Server(_, undo) => Some(undo),
            _ => None,
        }
    }

    fn client(&mut self) -> Option<&mut ClientUndo> {
        match self {
            Self::Client(_, undo) => Some(undo),
            _ => None,
        }
    }
}

impl Host {
    pub fn new(number: u32, scene: &Arc<Scene>, operations: Arc<Mutex<OperationTable>>) -> Self {
        let setup = &scene.setup.hosts[number as usize];
        let (first_server, first_client) = scene.first[number as usize];
        let server = |place| {
            let id = ServerId((first_server + place) as u16);
            ServerProcess::new(id, place, scene)
        };
        let client = |place| ClientProcess::new(first_client + place, scene);
        Self {
            number,
            scene: scene.clone(),
            state: State {
                nic: Nic::default(),
                memory: Memory::default(),
                round: 0,
                round_began_ns: 0,
                finished: 0,
            },
            cores: Cores::new(setup.cores),
            scheduler: scene
                .setup
                .costs
                .looking
                .filter(|_| setup.has_neighbours())
                .map(|looking| {
                    let kernel = Kernel {
                        wake_up_ns: scene.setup.costs.wake_up_ns,
                        bind_to_core: scene.setup.bind_to_core,
                        seed: Random::new(scene.setup.seed, number.into()).next(),
                    };
                    Scheduler::new(setup, looking, kernel)
                }),
            servers: (0..setup.servers).map(server).collect(),
            clients: (0..setup.clients).map(client).collect(),
            usage: UsageTable::new(),
            transactions: TransactionTable::new(),
            sources: SourcesTable::new(),
            left: BTreeMap::new(),
            operations,
            out: Consequences::default(),
        }
    }

    pub fn start(&mut self, ctx: &mut Context<'_, World, Forward>) {
        for (at_ns, event) in faults::of_host(&self.scene, self.number) {
            ctx.schedule(Time::from_ticks(at_ns), event);
        }
    }

    pub fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Event,
        ctx: &mut Context<'_, World, M>,
    ) -> Saved<M, WorldUndo> {
        let mut saved = ctx.save(|| {
            self.scheduler
                .iter_mut()
                .for_each(Scheduler::record_changes);
            WorldUndo::Host(HostUndo {
                state: self.state,
                cores: CoresUndo::default(),
                scheduler: None,
                process: self.process_undo(event),
            })
        });
        if let Event::Packet(packet) = event {
            self.receive_packet(now.ticks(), packet, ctx);
        } else if let Event::Round(round) = event {
            self.begin_round(*round, now.ticks(), ctx);
        } else if !(self.is_over() && event.is_timer()) {
            let undo = saved.as_mut().and_then(WorldUndo::host);
            let undo = undo.map(|undo| &mut undo.process);
            self.happen(now.ticks(), event, undo, ctx.random());
            self.release(now.ticks(), ctx);
        }
        match saved.as_mut().and_then(WorldUndo::host) {
            Some(undo) => {
                undo.cores = self.cores.take_changes();
                undo.scheduler = self.scheduler.as_mut().and_then(Scheduler::take_changes);
            }
            None => self.cores.forget_changes(),
        }
        saved
    }
}

/// The subject of an event.
#[derive(Clone, Copy, Debug)]
enum Concerned {
    Server(u32),
    Client(u32),
    Nobody,
}

impl Host {
    /// The process that an event concerns, by its place on this host.
    fn concerned(&self, event: &Event) -> Concerned {
        let (first_server, first_client) = self.scene.first[self.number as usize];
        match event {
            Event::Delivered(message) => match message.to {
                Party::Server(id) => Concerned::Server(u32::from(id.0) - first_server),
                Party::Client(number) => Concerned::Client(number - first_client),
            },
            Event::Release { server, .. } | Event::Tick { server, .. } => {
                Concerned::Server(*server)
            }
            Event::Stop(server) | Event::Return(server) => Concerned::Server(*server),
            Event::Timer(client) | Event::Begin(client) | Event::Die(client) => {
                Concerned::Client(client - first_client)
            }
            Event::TimeSlice { process, number } => self.concerned_by_slice(*process, *number),
            Event::Packet(_) | Event::Round(_) | Event::Finished => Concerned::Nobody,
        }
    }

    /// The process whose time slice begins, unless another plan has replaced that.
    fn concerned_by_slice(&self, process: u32, number: u64) -> Concerned {
        let scheduler = self.scheduler.as_ref();
        if scheduler.is_none_or(|scheduler| !scheduler.is_next(process, number)) {
            return Concerned::Nobody;
        }
        match process.checked_sub(self.servers.len() as u32) {
            None => Concerned::Server(process),
            Some(client) => Concerned::Client(client),
        }
    }

    /// Whether all clients are through with everything: nobody waits for anything any more.
    fn is_over(&self) -> bool {
        self.state.round == self.scene.round_count()
    }

    fn process_undo(&mut self, event: &Event) -> ProcessUndo {
        match self.concerned(event) {
            Concerned::Server(place) => {
                let undo = self.servers[place as usize].begin_undo();
                ProcessUndo::Server(place, Box::new(undo))
            }
            Concerned::Client(place) => {
                let undo = self.clients[place as usize].begin_undo();
                ProcessUndo::Client(place, Box::new(undo))
            }
            Concerned::Nobody => ProcessUndo::Nothing,
        }
    }

    /// Lets a process's event have its consequences.
    fn release<M: Mode>(&mut self, ns: u64, ctx: &mut Context<'_, World, M>) {
        let mut out = std::mem::take(&mut self.out);
        let after = |at_ns: u64| Time::from_ticks(at_ns - ns);
        for (at_ns, client) in out.timers.drain(..) {
            ctx.schedule(after(at_ns), Event::Timer(client));
        }
        for (at_ns, event) in out.events.drain(..) {
            ctx.schedule(after(at_ns), event);
        }
        for (at_ns, message) in out.messages.drain(..) {
            self.send_message(ns, at_ns, message, ctx);
        }
        for output in out.outputs.drain(..) {
            ctx.emit(output);
        }
        let finished = std::mem::take(&mut out.finished);
        self.out = out;
        self.count_finished(finished, ctx);
    }

    /// Tells the conductor when all clients are through with the round.
    fn count_finished<M: Mode>(&mut self, finished: u32, ctx: &mut Context<'_, World, M>) {
        self.state.finished += finished;
        let all = self.clients.len() as u32;
        if finished > 0 && self.state.finished == all {
            let barrier = Time::from_ticks(self.scene.barrier_ns);
            ctx.send(self.scene.conductor(), barrier, Event::Finished);
        }
    }

    fn begin_round<M: Mode>(&mut self, round: u32, ns: u64, ctx: &mut Context<'_, World, M>) {
        self.state.round = round;
        self.state.round_began_ns = ns;
        self.state.finished = 0;
        if self.is_over() {
            return;
        }
        let (_, first) = self.scene.first[self.number as usize];
        for client in first..first + self.clients.len() as u32 {
            ctx.schedule(Time::ZERO, Event::Begin(client));
        }
    }

    /// Takes the latest event back.
    pub fn undo(&mut self, undo: HostUndo) {
        self.state = undo.state;
        let unfinished = self.cores.take_changes();
        self.cores.take_back(unfinished);
        self.cores.take_back(undo.cores);
        if let Some(scheduler) = &mut self.scheduler {
            let unfinished = scheduler.take_changes();
            let changes = unfinished.into_iter().chain(undo.scheduler);
            changes.for_each(|undo| scheduler.take_back(undo));
        }
        match undo.process {
            ProcessUndo::Nothing => {}
            ProcessUndo::Server(place, undo) => self.servers[place as usize].undo(*undo),
            ProcessUndo::Client(place, undo) => self.clients[place as usize].undo(*undo),
        }
        self.out = Consequences::default();
    }

    /// Counts what is certain.
    pub fn commit(&mut self, output: Output) {
        match output {
            Output::Use {
                window,
                class,
                arrived_ns,
                started_ns,
                ended_ns,
            } => self.commit_use(window, class, [arrived_ns, started_ns, ended_ns]),
            Output::Left { window, arrived_ns } => {
                *self.left.entry(window.phase).or_default() += 1;
                let until_ns = window.until_ns;
                self.commit_use(
                    window,
                    ResourceClass::Client,
                    [arrived_ns, until_ns, until_ns],
                );
            }
            Output::Operation {
                window,
                kind,
                arrived_ns,
                ended_ns,
                outcome,
                retries,
            } if window.contains(ended_ns) => {
                // A thread that panicked has stopped the run anyway.
                if let Ok(mut table) = self.operations.lock() {
                    let tally = table.entry((window.phase, kind)).or_default();
                    tally.add(window, [arrived_ns, ended_ns], outcome, retries);
                }
            }
            Output::Transactions {
                window,
                at_ns,
                counts,
            } if window.contains(at_ns) => {
                let table = self.transactions.entry(window.phase).or_default();
                table.add(counts);
            }
            Output::Sources {
                window,
                at_ns,
                sources,
            } if window.contains(at_ns) => {
                self.sources.entry(window.phase).or_default().add(sources);
            }
            Output::Operation { .. } | Output::Transactions { .. } | Output::Sources { .. } => {}
        }
    }

    fn commit_use(&mut self, window: Window, class: ResourceClass, times_ns: [u64; 3]) {
        let usage = self.usage.entry((window.phase, class)).or_default();
        usage.add(window, times_ns);
    }
}

/// A part of a host that is measured.
#[derive(Clone, Copy, Debug)]
enum Part {
    Cpu,
    Send,
    Receive,
}

/// The class under which a part of a host is measured.
fn class(scene: &Scene, host: u32, part: Part) -> ResourceClass {
    let serves = scene.setup.hosts[host as usize].servers > 0;
    match (serves, part) {
        (true, Part::Cpu) => ResourceClass::ServerCpu,
        (true, Part::Send) => ResourceClass::ServerNicSend,
        (true, Part::Receive) => ResourceClass::ServerNicReceive,
        (false, Part::Cpu) => ResourceClass::ClientCpu,
        (false, Part::Send) => ResourceClass::ClientNicSend,
        (false, Part::Receive) => ResourceClass::ClientNicReceive,
    }
}
