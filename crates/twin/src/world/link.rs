//! A link that packets of several hosts share.

use super::ResourceClass;
use super::event::{Event, Packet};
use super::host::{forward, transmission_ns};
use super::process::{World, WorldUndo};
use super::scene::Scene;
use super::statistics::{Output, UsageTable};
use futago_des::{Context, Mode, Saved, Time};
use serde::Serialize;
use std::sync::Arc;

/// A shared link: a logical process of the engine. It serves one packet at a time, in the order in
/// which their heads arrive, and lets the head pass at once (cut-through).
#[derive(Debug, Serialize)]
pub struct Link {
    #[serde(skip)]
    scene: Arc<Scene>,
    #[serde(skip)]
    bytes_per_s: u64,
    pub state: LinkState,
    /// Statistics of events that are certain.
    #[serde(skip)]
    pub usage: UsageTable,
}

/// State that events change.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LinkState {
    idle_ns: u64,
    round: u32,
    round_began_ns: u64,
}

impl Link {
    pub fn new(number: u32, scene: &Arc<Scene>) -> Self {
        let setup = &scene.setup.network.shared_links[number as usize];
        Self {
            scene: scene.clone(),
            bytes_per_s: setup.bytes_per_s,
            state: LinkState::default(),
            usage: UsageTable::new(),
        }
    }

    pub fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Event,
        ctx: &mut Context<'_, World, M>,
    ) -> Saved<M, WorldUndo> {
        let saved = ctx.save(|| WorldUndo::Link(self.state));
        match event {
            Event::Packet(packet) => self.pass(now.ticks(), packet, ctx),
            Event::Round(round) => {
                self.state.round = *round;
                self.state.round_began_ns = now.ticks();
            }
            _ => {}
        }
        saved
    }

    fn pass<M: Mode>(&mut self, ns: u64, packet: &Packet, ctx: &mut Context<'_, World, M>) {
        let started_ns = ns.max(self.state.idle_ns);
        let ended_ns = started_ns + transmission_ns(u64::from(packet.bytes), self.bytes_per_s);
        self.state.idle_ns = ended_ns;
        let window = self
            .scene
            .window(self.state.round, self.state.round_began_ns);
        if let Some(window) = window {
            ctx.emit(Output::Use {
                window,
                class: ResourceClass::SharedLink,
                arrived_ns: ns,
                started_ns,
                ended_ns,
            });
        }
        let path = self.scene.path(packet.from_host, packet.to_host);
        let hop = path.hops.get(packet.hop as usize);
        let latency_ns = hop.map_or(0, |hop| hop.latency_ns);
        let mut packet = packet.clone();
        packet.hop += 1;
        let delay_ns = started_ns - ns + latency_ns;
        forward(&self.scene, path, packet, delay_ns, ctx);
    }

    /// Counts what is certain.
    pub fn commit(&mut self, output: Output) {
        if let Output::Use {
            window,
            class,
            arrived_ns,
            started_ns,
            ended_ns,
        } = output
        {
            let usage = self.usage.entry((window.phase, class)).or_default();
            usage.add(window, [arrived_ns, started_ns, ended_ns]);
        }
    }
}
