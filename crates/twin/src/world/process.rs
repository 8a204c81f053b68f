//! The logical processes of a world.

use super::conductor::{Conductor, ConductorState};
use super::event::Event;
use super::host::{Host, HostUndo};
use super::link::{Link, LinkState};
use super::statistics::Output;
use futago_des::{Context, Forward, Mode, Process, Saved, Time};
use serde::Serialize;

/// A logical process of a world.
#[derive(Debug, Serialize)]
#[allow(clippy::large_enum_variant, reason = "nearly all are hosts")]
pub enum World {
    /// A host.
    Host(Host),
    /// A shared link.
    Link(Link),
    /// The conductor.
    Conductor(Conductor),
}

/// The undo of an event at a process.
#[derive(Debug)]
pub enum WorldUndo {
    /// A host.
    Host(HostUndo),
    /// A shared link.
    Link(LinkState),
    /// The conductor.
    Conductor(ConductorState),
}

impl WorldUndo {
    /// A host's.
    pub const fn host(&mut self) -> Option<&mut HostUndo> {
        match self {
            Self::Host(undo) => Some(undo),
            Self::Link(_) | Self::Conductor(_) => None,
        }
    }
}

impl Process for World {
    type Event = Event;
    type Undo = WorldUndo;
    type Output = Output;

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        match self {
            Self::Host(host) => host.start(ctx),
            Self::Link(_) => {}
            Self::Conductor(conductor) => conductor.start(ctx),
        }
    }

    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Event,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, WorldUndo> {
        match self {
            Self::Host(host) => host.handle(now, event, ctx),
            Self::Link(link) => link.handle(now, event, ctx),
            Self::Conductor(conductor) => conductor.handle(event, ctx),
        }
    }

    fn undo(&mut self, undo: WorldUndo) {
        match (self, undo) {
            (Self::Host(host), WorldUndo::Host(undo)) => host.undo(undo),
            (Self::Link(link), WorldUndo::Link(state)) => link.state = state,
            (Self::Conductor(conductor), WorldUndo::Conductor(state)) => conductor.state = state,
            _ => unreachable!("an undo comes back to the process that made it"),
        }
    }

    fn commit(&mut self, _now: Time, output: Output) {
        match self {
            Self::Host(host) => host.commit(output),
            Self::Link(link) => link.commit(output),
            Self::Conductor(_) => {}
        }
    }
}
