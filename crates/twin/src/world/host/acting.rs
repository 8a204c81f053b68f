//! A process acts: when something happens to it, or when it has found it.

use super::moment::Moment;
use super::scheduler::Found;
use super::server::{ServerProcess, ServerUndo};
use super::{Concerned, Host, Part, ProcessUndo, class};
use crate::world::MessageCosts;
use crate::world::client::{ClientProcess, ClientUndo};
use crate::world::event::Event;
use crate::world::setup::Held;
use futago_des::RandomStream;

impl Host {
    /// Lets the process act that an event concerns: now, or when it looks.
    pub(super) fn happen(
        &mut self,
        ns: u64,
        event: &Event,
        undo: Option<&mut ProcessUndo>,
        random: &mut RandomStream,
    ) {
        let concerned = self.concerned(event);
        let process = match concerned {
            Concerned::Server(place) => place,
            Concerned::Client(place) => self.servers.len() as u32 + place,
            Concerned::Nobody => return,
        };
        match (&mut self.scheduler, event) {
            (Some(scheduler), Event::TimeSlice { .. }) => {
                let Some(found) = scheduler.begin(process, ns) else {
                    return;
                };
                let until_ns = self.act(ns, &found.event, concerned, Some(&found), undo, random);
                self.end_slice(process, concerned, until_ns);
            }
            (Some(scheduler), event) if event.is_looked_for() => {
                scheduler.arrive(process, event.clone(), ns, &mut self.out.events);
            }
            _ => {
                self.act(ns, event, concerned, None, undo, random);
            }
        }
    }

    fn end_slice(&mut self, process: u32, concerned: Concerned, ns: u64) {
        let waits = match concerned {
            Concerned::Client(place) => self.clients[place as usize].waits(),
            _ => true,
        };
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.end(process, ns, waits, &mut self.out.events);
        }
    }

    /// The data that the servers hold together, if it matters.
    fn held(&self) -> Held {
        if !self.scene.setup.costs.depend_on_held() {
            return Held::default();
        }
        let spaces = self.servers.iter().map(ServerProcess::space);
        spaces.fold(Held::default(), |held, space| Held {
            files: held.files + space.files,
            bytes: held.bytes + space.used_bytes,
        })
    }

    /// By how much work on this is dearer than right after work of its own.
    fn more(&self, found: &Found) -> f64 {
        let Some(looking) = self.scene.setup.costs.looking else {
            return 0.0;
        };
        let after_idle = looking
            .after_idle
            .map_or(0.0, |after_idle| after_idle.more(found.idle_ns));
        after_idle + looking.after_other * found.others_before as f64
    }

    /// Lets a process act, which may have found this when it looked. Returns until when it works.
    fn act(
        &mut self,
        ns: u64,
        event: &Event,
        concerned: Concerned,
        found: Option<&Found>,
        undo: Option<&mut ProcessUndo>,
        random: &mut RandomStream,
    ) -> u64 {
        let mut at = Moment {
            ns,
            more: found.map_or(0.0, |found| self.more(found)),
            held: self.held(),
            scene: &self.scene,
            random,
            host: self.number,
            cores: &mut self.cores,
            memory: &mut self.state.memory,
            taken_bytes: found.map_or(0, |found| found.taken_bytes),
            has_core: found.is_some(),
            worked_until_ns: ns,
            window: self
                .scene
                .window(self.state.round, self.state.round_began_ns),
            cpu: class(&self.scene, self.number, Part::Cpu),
            out: &mut self.out,
        };
        if let Some(found) = found {
            take_in(&mut at, found, concerned);
            if found.part_bytes.is_some() {
                return at.worked_until_ns;
            }
        }
        match concerned {
            Concerned::Server(place) => {
                let server = &mut self.servers[place as usize];
                run_server(server, event, &mut at, undo.and_then(ProcessUndo::server));
            }
            Concerned::Client(place) => {
                let client = &mut self.clients[place as usize];
                let undo = undo.and_then(ProcessUndo::client);
                run_client(client, event, self.state.round, &mut at, undo);
            }
            Concerned::Nobody => {}
        }
        at.worked_until_ns
    }
}

/// The work of a process on a found message before it acts on it; if it takes out a part, that is
/// all of its work.
fn take_in(at: &mut Moment<'_>, found: &Found, concerned: Concerned) {
    if found.is_woken {
        let looking = at.scene.setup.costs.looking;
        at.occupy(looking.map_or(0.0, |looking| looking.woken_ns));
    }
    let messages = message_costs(at, &found.event, concerned);
    if let Some(bytes) = found.part_bytes {
        at.take_part(bytes, messages.byte_received_ns);
    } else if found.is_first {
        at.occupy(at.dear(messages.batch_ns));
    }
}

/// The cost of an event's message for its process; none without a message.
fn message_costs(at: &Moment<'_>, event: &Event, concerned: Concerned) -> MessageCosts {
    let Event::Delivered(message) = event else {
        return MessageCosts::default();
    };
    match concerned {
        Concerned::Server(_) => at.server_messages(message.from),
        Concerned::Client(_) => at.client_messages(message.from),
        Concerned::Nobody => MessageCosts::default(),
    }
}

fn run_server(
    server: &mut ServerProcess,
    event: &Event,
    at: &mut Moment<'_>,
    undo: Option<&mut ServerUndo>,
) {
    match event {
        Event::Delivered(message) => server.receive(message, at, undo),
        Event::Release { life, messages, .. } => server.release(*life, messages, at, undo),
        Event::Tick { life, .. } => server.tick(*life, at, undo),
        Event::Stop(_) => server.restart(true, at, undo),
        Event::Return(_) => server.restart(false, at, undo),
        _ => {}
    }
}

fn run_client(
    client: &mut ClientProcess,
    event: &Event,
    round: u32,
    at: &mut Moment<'_>,
    undo: Option<&mut ClientUndo>,
) {
    match event {
        Event::Delivered(message) => client.receive(message, at, undo),
        Event::Timer(_) => client.wake(at, undo),
        Event::Begin(_) => client.begin_round(round, at, undo),
        Event::Die(_) => client.die(at),
        _ => {}
    }
}
