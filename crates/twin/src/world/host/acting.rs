//! A process acts: when something happens to it, or when it has found it.

use super::moment::Moment;
use super::server::{ServerProcess, ServerUndo};
use super::turns::Found;
use super::{Concerned, Host, Part, ProcessUndo, class};
use crate::world::client::{ClientProcess, ClientUndo};
use crate::world::event::Event;
use futago_des::RandomStream;

/// How a process comes to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// Something has happened to it.
    Event,
    /// It has looked, and has found this.
    Found { is_cold: bool },
    /// It has found this together with the last one, from the same sender.
    FoundToo { is_cold: bool },
}

impl Occasion {
    /// Whether other processes have used the core's caches meanwhile.
    const fn is_cold(self) -> bool {
        match self {
            Self::Event => false,
            Self::Found { is_cold } | Self::FoundToo { is_cold } => is_cold,
        }
    }
}

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
        match (&mut self.turns, event) {
            (Some(turns), Event::Turn { .. }) => {
                let found = turns.begin(process, ns);
                let Some(Found {
                    event,
                    is_first,
                    is_cold,
                }) = found
                else {
                    return;
                };
                let occasion = match is_first {
                    true => Occasion::Found { is_cold },
                    false => Occasion::FoundToo { is_cold },
                };
                let until_ns = self.act(ns, &event, concerned, occasion, undo, random);
                self.end_turn(process, concerned, until_ns);
            }
            (Some(turns), event) if event.is_looked_for() => {
                turns.arrive(process, event.clone(), ns, &mut self.out.events);
            }
            _ => {
                self.act(ns, event, concerned, Occasion::Event, undo, random);
            }
        }
    }

    fn end_turn(&mut self, process: u32, concerned: Concerned, ns: u64) {
        let waits = match concerned {
            Concerned::Client(place) => self.clients[place as usize].waits(),
            _ => true,
        };
        if let Some(turns) = &mut self.turns {
            turns.end(process, ns, waits, &mut self.out.events);
        }
    }

    /// How many files the servers hold together, if it makes a difference.
    fn files(&self) -> u64 {
        let costs = &self.scene.setup.costs.server;
        costs
            .many_files
            .map_or(0, |_| self.servers.iter().map(ServerProcess::files).sum())
    }

    /// Lets a process act. Returns until when it works.
    fn act(
        &mut self,
        ns: u64,
        event: &Event,
        concerned: Concerned,
        occasion: Occasion,
        undo: Option<&mut ProcessUndo>,
        random: &mut RandomStream,
    ) -> u64 {
        let mut at = Moment {
            ns,
            files: self.files(),
            scene: &self.scene,
            random,
            host: self.number,
            cores: &mut self.cores,
            memory: &mut self.state.memory,
            is_cold: occasion.is_cold(),
            has_turn: occasion != Occasion::Event,
            worked_until_ns: ns,
            window: self
                .scene
                .window(self.state.round, self.state.round_began_ns),
            cpu: class(&self.scene, self.number, Part::Cpu),
            out: &mut self.out,
        };
        if let Occasion::Found { .. } = occasion {
            at.occupy(turn_ns(&at, event, concerned));
        }
        match (concerned, undo) {
            (Concerned::Server(place), Some(ProcessUndo::Server(_, undo))) => {
                let server = &mut self.servers[place as usize];
                run_server(server, event, &mut at, Some(undo));
            }
            (Concerned::Server(place), _) => {
                run_server(&mut self.servers[place as usize], event, &mut at, None);
            }
            (Concerned::Client(place), Some(ProcessUndo::Client(_, undo))) => {
                let client = &mut self.clients[place as usize];
                run_client(client, event, self.state.round, &mut at, Some(undo));
            }
            (Concerned::Client(place), _) => {
                let client = &mut self.clients[place as usize];
                run_client(client, event, self.state.round, &mut at, None);
            }
            (Concerned::Nobody, _) => {}
        }
        at.worked_until_ns
    }
}

/// What it costs a process to have found messages.
fn turn_ns(at: &Moment<'_>, event: &Event, concerned: Concerned) -> f64 {
    let Event::Delivered(message) = event else {
        return 0.0;
    };
    let costs = &at.scene.setup.costs;
    let circumstances = at.circumstances(message.from);
    match concerned {
        Concerned::Server(_) => costs.server.messages(circumstances).turn_ns,
        Concerned::Client(_) => costs.client.messages(circumstances).turn_ns,
        Concerned::Nobody => 0.0,
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
