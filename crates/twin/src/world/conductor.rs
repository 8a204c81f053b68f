//! The conductor, which lets all clients begin a round together.

use super::event::Event;
use super::process::{World, WorldUndo};
use super::scene::Scene;
use futago_des::{Context, Forward, Mode, ProcessId, Saved, Time};
use serde::Serialize;
use std::sync::Arc;

/// The conductor: a logical process of the engine. Its messages stand for a barrier of the
/// programs that make the load; they take a short time and do not use the network.
#[derive(Debug, Serialize)]
pub struct Conductor {
    #[serde(skip)]
    scene: Arc<Scene>,
    /// Hosts with clients.
    #[serde(skip)]
    playing: u32,
    pub state: ConductorState,
}

/// State that events change.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ConductorState {
    round: u32,
    /// Hosts that are through with the round.
    finished: u32,
}

impl Conductor {
    pub fn new(scene: &Arc<Scene>) -> Self {
        let hosts = scene.setup.hosts.iter();
        Self {
            scene: scene.clone(),
            playing: hosts.filter(|host| host.clients > 0).count() as u32,
            state: ConductorState::default(),
        }
    }

    pub fn start(&self, ctx: &mut Context<'_, World, Forward>) {
        self.announce(ctx);
    }

    pub fn handle<M: Mode>(
        &mut self,
        event: &Event,
        ctx: &mut Context<'_, World, M>,
    ) -> Saved<M, WorldUndo> {
        let saved = ctx.save(|| WorldUndo::Conductor(self.state));
        if matches!(event, Event::Finished) {
            self.state.finished += 1;
        }
        if self.state.finished == self.playing {
            self.state.finished = 0;
            self.state.round += 1;
            self.announce(ctx);
        }
        saved
    }

    /// Tells all hosts and links of the round; the one after the last is the end.
    fn announce<M: Mode>(&self, ctx: &mut Context<'_, World, M>) {
        let round = self.state.round;
        let barrier = Time::from_ticks(self.scene.barrier_ns);
        for listener in 0..self.scene.conductor().0 {
            ctx.send(ProcessId(listener), barrier, Event::Round(round));
        }
    }
}
