//! The way of a message out of a host and into another.

use super::nic::{Occupied, transmission_ns};
use super::{Host, Part, class, faults};
use crate::world::Path;
use crate::world::event::{Event, Packet};
use crate::world::message::Message;
use crate::world::process::World;
use crate::world::scene::Scene;
use crate::world::statistics::Output;
use futago_des::{Context, Mode, ProcessId, Time};
use std::sync::Arc;

impl Host {
    /// Sends a message that reaches the interface at `at_ns`; now is `ns`.
    pub(super) fn send_message<M: Mode>(
        &mut self,
        ns: u64,
        at_ns: u64,
        message: Arc<Message>,
        ctx: &mut Context<'_, World, M>,
    ) {
        let Some(to) = self.scene.host_of(message.to) else {
            return;
        };
        if to == self.number {
            let local_ns = self.scene.setup.network.local_ns;
            let delay = Time::from_ticks(at_ns - ns + local_ns);
            return ctx.schedule(delay, Event::Delivered(message));
        }
        let copies = faults::copies(&self.scene, at_ns, [self.number, to], ctx.random());
        for late_ns in copies {
            self.send_packets(ns, at_ns, to, late_ns, &message, ctx);
        }
    }

    /// Sends a message packet by packet; the last one brings it. All are late by `late_ns`.
    fn send_packets<M: Mode>(
        &mut self,
        ns: u64,
        at_ns: u64,
        to: u32,
        late_ns: u64,
        message: &Arc<Message>,
        ctx: &mut Context<'_, World, M>,
    ) {
        let scene = self.scene.clone();
        let path = scene.path(self.number, to);
        let speed = scene.setup.hosts[self.number as usize].send_bytes_per_s;
        let most = u64::from(scene.setup.network.packet_bytes);
        let mut left = message.size_bytes(scene.setup.network.message_size);
        loop {
            let bytes = left.min(most);
            left -= bytes;
            let transmission_ns = transmission_ns(bytes, speed);
            let sent = self.state.nic.send(at_ns, path.startup_ns, transmission_ns);
            self.emit_use(Part::Send, at_ns, sent, ctx);
            let packet = Packet {
                bytes: bytes as u32,
                from_host: self.number,
                to_host: to,
                hop: 0,
                message: (left == 0).then(|| message.clone()),
            };
            forward(&scene, path, packet, sent.head_ns + late_ns - ns, ctx);
            if left == 0 {
                return;
            }
        }
    }

    /// Takes in a packet whose head is here.
    pub(super) fn receive_packet<M: Mode>(
        &mut self,
        ns: u64,
        packet: &Packet,
        ctx: &mut Context<'_, World, M>,
    ) {
        let scene = self.scene.clone();
        let bytes = u64::from(packet.bytes);
        let speed = scene.setup.hosts[self.number as usize].receive_bytes_per_s;
        let received = self.state.nic.receive(ns, transmission_ns(bytes, speed));
        self.emit_use(Part::Receive, ns, received, ctx);
        let Some(message) = &packet.message else {
            return;
        };
        // The last byte cannot be here before the slowest link has let it pass.
        let slowest = scene.slowest_bytes_per_s(packet.from_host, self.number);
        let tail_ns = ns + transmission_ns(bytes, slowest);
        let delay = Time::from_ticks(received.until_ns.max(tail_ns) - ns);
        ctx.schedule(delay, Event::Delivered(message.clone()));
    }

    fn emit_use<M: Mode>(
        &self,
        part: Part,
        arrived_ns: u64,
        occupied: Occupied,
        ctx: &mut Context<'_, World, M>,
    ) {
        let window = self
            .scene
            .window(self.state.round, self.state.round_began_ns);
        if let Some(window) = window {
            ctx.emit(Output::Use {
                window,
                class: class(&self.scene, self.number, part),
                arrived_ns,
                started_ns: occupied.from_ns,
                ended_ns: occupied.until_ns,
            });
        }
    }
}

/// Sends a packet on, after a delay: to the next shared link on its path, or to its host.
pub fn forward<M: Mode>(
    scene: &Scene,
    path: &Path,
    mut packet: Packet,
    mut delay_ns: u64,
    ctx: &mut Context<'_, World, M>,
) {
    let mut next = ProcessId(packet.to_host);
    while let Some(hop) = path.hops.get(packet.hop as usize) {
        if let Some(link) = hop.shared_link {
            next = scene.link_process(link);
            break;
        }
        delay_ns += hop.latency_ns;
        packet.hop += 1;
    }
    ctx.send(next, Time::from_ticks(delay_ns), Event::Packet(packet));
}
