use super::*;
use crate::scenario::Scenario;
use crate::world::ResourceClass;
use crate::world::host::{Consequences, Cores, Memory};
use crate::world::setup::Held;
use futago_des::{ProcessId, RandomStream};
use std::path::Path;

const SCENARIO: &str = "
    cluster = { servers = 2, clients = 1 }
    machine.preset = 'ppmds'
    workload.phases = [
        { mix = { create = 1 }, operations = 3 },
        { mix = { stat = 1 }, operations = 3 },
    ]";

fn scene() -> Scene {
    let scenario = Scenario::parse("s.toml", SCENARIO, Path::new("."), &[]).unwrap();
    Scene::new(scenario.points().unwrap().remove(0).setup).unwrap()
}

/// The state of a client that the digest covers.
fn state(client: &ClientProcess) -> Vec<u8> {
    postcard::to_extend(client, Vec::new()).unwrap()
}

/// Has the client begin a round.
fn begin_round(
    client: &mut ClientProcess,
    round: u32,
    scene: &Scene,
    random: &mut RandomStream,
    undo: Option<&mut ClientUndo>,
) {
    let mut at = Moment {
        held: Held::default(),
        ns: 1_000 * u64::from(round),
        scene,
        random,
        host: 0,
        cores: &mut Cores::new(1),
        memory: &mut Memory::default(),
        taken_bytes: 0,
        more: 0.0,
        has_core: false,
        worked_until_ns: 0,
        window: None,
        cpu: ResourceClass::ClientCpu,
        out: &mut Consequences::default(),
    };
    client.begin_round(round, &mut at, undo);
}

/// The optimistic executor may announce a round while an operation of the last one is under way.
#[test]
fn a_round_that_interrupts_an_operation_can_be_taken_back() {
    let scene = scene();
    let mut random = RandomStream::new(1, ProcessId(0));
    for round in 1..scene.round_count() {
        let mut client = ClientProcess::new(0, &scene);
        let mut undo = client.begin_undo();
        begin_round(&mut client, 0, &scene, &mut random, Some(&mut undo));
        assert!(client.task.is_some(), "an operation is under way");
        let before = state(&client);
        let mut undo = client.begin_undo();
        begin_round(&mut client, round, &scene, &mut random, Some(&mut undo));
        assert_ne!(state(&client), before, "round {round}");
        client.undo(undo);
        assert_eq!(state(&client), before, "round {round}");
    }
}
