//! A setup that makes no sense is refused with the part that does not.

use crate::setups::{own_files, ppmds, transfers};
use futago_lab::workload::{FileLayout, IoPhase, IoWorkload};
use futago_twin::world::{
    Activity, AfterIdle, Amount, FileNames, Looking, Mix, MuchData, OperationKind, Phase, Place,
    RunOptions, Setup, run,
};

#[track_caller]
fn assert_refused(change: impl FnOnce(&mut Setup), part: &str) {
    let mut setup = ppmds(2, 2, 1_000, 1_000);
    change(&mut setup);
    let error = run(&setup, &RunOptions::default()).expect_err("it makes no sense");
    assert!(error.to_string().starts_with(part), "{error}");
}

fn reads(change: impl FnOnce(&mut IoWorkload)) -> Phase {
    let mut workload = own_files(2);
    change(&mut workload);
    let all = Amount::Operations(64);
    transfers("read", Place::Own, IoPhase::Read, workload, all)
}

#[test]
fn costs_that_make_no_sense_are_refused() {
    for [from_ns, until_ns] in [[7, 7], [0, 1]] {
        let after_idle = Some(AfterIdle {
            from_ns,
            until_ns,
            more: 0.5,
        });
        let looking = Looking {
            after_idle,
            ..Looking::default()
        };
        assert_refused(
            |setup| setup.costs.looking = Some(looking),
            "costs.looking.after_idle",
        );
    }
    let much = Some(MuchData {
        from_mib: 7,
        until_mib: 7,
        byte_received_ns: 1.0,
        byte_sent_ns: 1.0,
    });
    assert_refused(
        |setup| setup.costs.client.much_data = much,
        "costs.client.much_data",
    );
}

#[test]
fn nonsense_is_refused() {
    assert_refused(|setup| setup.hosts[1].cores = 0, "hosts[1].cores");
    assert_refused(|setup| setup.hosts[3].group = 7, "hosts[3].group");
    assert_refused(|setup| setup.hosts.truncate(2), "hosts: there is no client");
    assert_refused(
        |setup| setup.network.packet_bytes = 0,
        "network.packet_bytes",
    );
    assert_refused(
        |setup| setup.network.paths[0][0].hops[1].shared_link = Some(0),
        "network.paths[0][0]: there is no such shared link",
    );
    assert_refused(|setup| setup.protocol.partitions = 1, "protocol.partitions");
    assert_refused(
        |setup| setup.directories[0].buckets = 3,
        "directories[0].buckets",
    );
    assert_refused(
        |setup| setup.directories[0].name = "a/b".into(),
        "directories[0].name",
    );
    assert_refused(|setup| setup.wide.buckets = 3, "wide.buckets");
    assert_refused(
        |setup| {
            setup.directories[0].buckets = 1;
            setup.directories[0].names = FileNames::RoundRobin;
        },
        "directories[0].names",
    );
    assert_refused(
        |setup| setup.store.concurrency = Some(0),
        "store.concurrency",
    );
    assert_refused(|setup| setup.faults.lost = 1.5, "faults.lost");
    assert_refused(
        |setup| setup.faults.dead_clients = vec![(2, 0)],
        "faults.dead_clients",
    );
}

#[test]
fn nonsense_in_phases_is_refused() {
    assert_refused(
        |setup| setup.phases[0].place = Place::Shared(1),
        "phases[0].place",
    );
    assert_refused(
        |setup| setup.phases[0].activity = Activity::Names(vec![(OperationKind::Stat, 0)].into()),
        "phases[0].mix",
    );
    assert_refused(
        |setup| setup.phases[0].activity = Activity::Names(vec![(OperationKind::Read, 1)].into()),
        "phases[0].mix",
    );
    assert_refused(
        |setup| {
            let operations = vec![(OperationKind::Stat, 1)];
            let mix = Mix {
                operations,
                common: 1,
                ..Mix::default()
            };
            setup.phases[0].place = Place::Own;
            setup.phases[0].activity = Activity::Names(mix);
        },
        "phases[0].common",
    );
    assert_refused(
        |setup| setup.phases[0] = reads(|workload| workload.file = FileLayout::Shared),
        "phases[0].file",
    );
    assert_refused(
        |setup| setup.phases[0] = reads(|workload| workload.transfer_bytes = 0),
        "phases[0].transfer",
    );
    assert_refused(
        |setup| setup.phases[0] = reads(|workload| workload.clients = 3),
        "phases[0].clients",
    );
}
