//! A process acts: when something happens to it, or when it has found it.

use super::moment::Moment;
use super::server::{ServerProcess, ServerUndo};
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
    Found,
    /// It has found this together with the last one, from the same sender.
    FoundToo,
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
                let Some((event, first)) = found else { return };
                let occasion = match first {
                    true => Occasion::Found,
                    false => Occasion::FoundToo,
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
            scene: &self.scene,
            random,
            cores: &mut self.cores,
            has_turn: occasion != Occasion::Event,
            worked_until_ns: ns,
            window: self
                .scene
                .window(self.state.round, self.state.round_began_ns),
            cpu: class(&self.scene, self.number, Part::Cpu),
            out: &mut self.out,
        };
        if occasion == Occasion::Found {
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
    let costs = &at.scene.setup.costs;
    match (event, concerned) {
        (Event::Delivered(_), Concerned::Server(_)) => costs.server.turn_ns,
        (Event::Delivered(_), Concerned::Client(_)) => costs.client.turn_ns,
        _ => 0.0,
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
