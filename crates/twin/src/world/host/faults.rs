//! Faults of a host and of its messages.

use crate::world::event::Event;
use crate::world::message::Party;
use crate::world::scene::Scene;
use futago_base::ServerId;
use futago_des::RandomStream;

/// The faults of a host's processes over time.
pub fn of_host(scene: &Scene, host: u32) -> Vec<(u64, Event)> {
    let faults = &scene.setup.faults;
    let (first_server, _) = scene.first[host as usize];
    let dead = faults.dead_clients.iter();
    let dead = dead.filter(|&&(client, _)| scene.host_of(Party::Client(client)) == Some(host));
    let dead = dead.map(|&(client, at_ns)| (at_ns, Event::Die(client)));
    let stops = faults
        .stopped_servers
        .iter()
        .filter(|stop| scene.host_of(Party::Server(ServerId(stop.server as u16))) == Some(host));
    let stops = stops.flat_map(|stop| {
        let place = stop.server - first_server;
        [
            (stop.at_ns, Event::Stop(place)),
            (stop.back_ns, Event::Return(place)),
        ]
    });
    dead.chain(stops).collect()
}

/// How often a message between hosts arrives, and how late each copy is.
pub fn copies(
    scene: &Scene,
    at_ns: u64,
    between: [u32; 2],
    random: &mut RandomStream,
) -> impl Iterator<Item = u64> + use<> {
    let faults = &scene.setup.faults;
    let happens = |share: f64, random: &mut RandomStream| share > 0.0 && random.chance(share);
    let lost = happens(faults.lost, random) || are_apart(scene, at_ns, between);
    let count = match lost {
        true => 0,
        false => 1 + usize::from(happens(faults.doubled, random)),
    };
    let mut late_ns = [0; 2];
    for late_ns in &mut late_ns[..count] {
        if happens(faults.late, random) {
            *late_ns = random.below(faults.late_ns.saturating_add(1));
        }
    }
    late_ns.into_iter().take(count)
}

fn are_apart(scene: &Scene, at_ns: u64, [from, to]: [u32; 2]) -> bool {
    scene.setup.faults.partitions.iter().any(|cut| {
        let ends = (cut.one, cut.other);
        (ends == (from, to) || ends == (to, from)) && (cut.from_ns..cut.until_ns).contains(&at_ns)
    })
}
