//! Worlds for tests.

use futago_base::{Duration, map::Policy};
use futago_des::Executor;
use futago_driver::{AdmissionConfig, CallsConfig};
use futago_lab::workload::{Access, FileLayout, IoPhase, IoWorkload, Trace};
use futago_store::Sync;
use futago_twin::world::{
    Activity, AfterIdle, Amount, ArrivalProcess, Arrivals, Costs, Data, Directory, Disk, DiskReads,
    Faults, FileNames, Hop, Host, HostPartition, Latency, Looking, ManyFiles, Measured,
    MessageCosts, MessageSize, Mix, MuchData, Network, OperationKind, Path, Phase, Place,
    Popularity, Protocol, RunOptions, ServerStop, Setup, SharedLink, Store, WideDirectories, run,
};

pub const SERVER_BYTES_PER_S: u64 = 1_250_000_000;
pub const CLIENT_BYTES_PER_S: u64 = 125_000_000;

/// Servers and clients on a host each, and a switch before either kind.
pub fn hosts(servers: u32, clients: u32) -> Vec<Host> {
    let host = |bytes_per_s, servers, clients| Host {
        group: 0,
        send_bytes_per_s: bytes_per_s,
        receive_bytes_per_s: bytes_per_s,
        cores: 1,
        memory_bytes_per_s: None,
        byte_times: 1.0,
        servers,
        clients,
    };
    let servers = (0..servers).map(|_| host(SERVER_BYTES_PER_S, 1, 0));
    let clients = (0..clients).map(|_| host(CLIENT_BYTES_PER_S, 0, 1));
    servers.chain(clients).collect()
}

/// The network of the evaluation of PPMDS with CODES: start-up at each of three hops.
pub fn network(startup_ns: u64, message_size: MessageSize) -> Network {
    let hop = Hop {
        shared_link: None,
        latency_ns: startup_ns,
    };
    let path = Path {
        startup_ns,
        hops: vec![hop; 2],
        bytes_per_s: None,
    };
    Network {
        packet_bytes: 1500,
        message_size,
        local_ns: 1_000,
        paths: vec![vec![path]],
        shared_links: Vec::new(),
    }
}

pub fn protocol(partitions: usize) -> Protocol {
    Protocol {
        partitions,
        policy: Policy::Modular,
        store_bytes: 1 << 40,
        server: futago_server::Config::default(),
        client: futago_client::Config::default(),
        calls: CallsConfig::default(),
        admission: AdmissionConfig::default(),
        keep_alive: false,
        leases: false,
        contacts: false,
        cooperative: false,
    }
}

/// The evaluation of PPMDS with CODES: everybody creates files in one directory.
pub fn ppmds(servers: u32, clients: u32, startup_ns: u64, measured_ns: u64) -> Setup {
    Setup {
        seed: 1,
        hosts: hosts(servers, clients),
        bind_to_core: false,
        network: network(startup_ns, MessageSize::Fixed(512)),
        costs: Costs::default(),
        store: Store {
            latency: Latency::Constant(500_000),
            ..Store::default()
        },
        disk: None,
        protocol: protocol(servers as usize),
        directories: vec![Directory {
            name: "shared".into(),
            buckets: u64::from(servers.next_power_of_two()),
            known: true,
            names: FileNames::Numbered,
        }],
        wide: WideDirectories::default(),
        phases: vec![Phase {
            name: "create".into(),
            place: Place::Shared(0),
            activity: Activity::Names(vec![(OperationKind::Create, 1)].into()),
            amount: Amount::Duration {
                warm_up_ns: 20_000_000,
                measured_ns,
            },
            think: Latency::ZERO,
            arrivals: None,
        }],
        faults: Faults::default(),
    }
}

fn names(name: &str, place: Place, mix: Mix, count: u64) -> Phase {
    Phase {
        name: name.into(),
        place,
        activity: Activity::Names(mix),
        amount: Amount::Operations(count),
        think: Latency::Uniform(0, 30_000),
        arrivals: None,
    }
}

/// With so many files that belong to all clients.
fn of_all_kinds(common: u64) -> Mix {
    let operations = vec![
        (OperationKind::Create, 6),
        (OperationKind::Stat, 2),
        (OperationKind::Lookup, 2),
        (OperationKind::ReadFile, 1),
        (OperationKind::ReadDirectory, 1),
        (OperationKind::Unlink, 2),
        (OperationKind::Rename, 2),
        (OperationKind::Link, 2),
        (OperationKind::Exchange, 3),
        (OperationKind::SetAttributes, 1),
        (OperationKind::MakeDirectory, 2),
        (OperationKind::RemoveDirectory, 1),
    ];
    Mix {
        operations,
        common,
        popularity: Popularity::Zipf(0.8),
        file_bytes: 100,
    }
}

fn removals() -> Mix {
    vec![(OperationKind::RemoveDirectory, 1)].into()
}

/// Every kind of operation at once, in shared and own directories that split while they are used,
/// and all sorts of costs.
pub fn mixed(servers: u32, clients: u32, seed: u64) -> Setup {
    let mut setup = ppmds(servers, clients, 5_000, 1);
    setup.seed = seed;
    setup.network.message_size = MessageSize::Encoded;
    setup.network.packet_bytes = 256;
    set_all_sorts_of_costs(&mut setup.costs);
    setup.store = Store {
        latency: Latency::Exponential(40_000.0),
        byte_ns: 0.5,
        concurrency: Some(2),
    };
    setup.protocol = protocol(64);
    setup.protocol.server.split_entries = 8;
    setup.protocol.server.grace = Duration::from_millis(20);
    setup.protocol.calls.resend_min = Duration::from_millis(5);
    setup.directories[0].buckets = 1;
    setup.wide = WideDirectories {
        each: 2,
        buckets: 4,
    };
    setup.phases = vec![
        names("shared", Place::Shared(0), of_all_kinds(0), 12),
        names("own", Place::Own, of_all_kinds(0), 6),
        names("shared again", Place::Shared(0), of_all_kinds(0), 6),
        names("common", Place::Shared(0), of_all_kinds(3), 8),
        names("wide", Place::Root, removals(), 3),
    ];
    let faster = [ArrivalProcess::Poisson, ArrivalProcess::Constant];
    for (phase, process) in setup.phases[2..4].iter_mut().zip(faster) {
        phase.think = Latency::ZERO;
        let per_s = 20_000.0;
        phase.arrivals = Some(Arrivals { per_s, process });
    }
    setup.phases[3].amount = Amount::Duration {
        warm_up_ns: 200_000,
        measured_ns: 800_000,
    };
    setup.phases.extend(small_transfers(clients));
    setup.phases.push(recorded());
    setup.protocol.client.chunk_bytes = 4096;
    for host in &mut setup.hosts {
        host.memory_bytes_per_s = Some(3_000_000_000);
        host.byte_times = 1.25;
    }
    setup
}

fn set_all_sorts_of_costs(costs: &mut Costs) {
    costs.wake_up_ns = 700;
    costs.server.input_ns = 3_000.0;
    costs.server.record_written_ns = 400.0;
    costs.server.byte_received_ns = 0.3;
    costs.server.found_whole = Some(0.8);
    costs.server.many_files = Some(ManyFiles {
        from: 4,
        until: 64,
        record_scanned_ns: 150.0,
    });
    costs.server.much_data = Some(MuchData {
        from_mib: 0,
        until_mib: 1,
        byte_received_ns: 0.5,
        byte_sent_ns: 0.2,
    });
    costs.server.sockets = MessageCosts {
        batch_ns: 2_000.0,
        byte_received_ns: 0.1,
        byte_sent_ns: 0.2,
    };
    costs.client.operation_ns = 1_500.0;
    costs.client.byte_sent_ns = 0.2;
    costs.client.much_data = costs.server.much_data;
    costs.client.sockets = costs.server.sockets;
}

/// The same with processes that look for messages, several on a host.
pub fn looking(mut setup: Setup) -> Setup {
    setup.costs.looking = Some(Looking {
        pass_ns: 900,
        woken_ns: 9_000.0,
        after_idle: Some(AfterIdle {
            from_ns: 5_000,
            until_ns: 300_000,
            more: 0.7,
        }),
        after_other: 0.3,
    });
    setup.costs.server.batch_ns = 500.0;
    setup.costs.client.batch_ns = 300.0;
    setup.costs.client.listed_name_ns = 20.0;
    let clients = setup.hosts.iter().map(|host| host.clients).sum();
    setup.hosts.retain(|host| host.servers > 0);
    setup.hosts[0].cores = 2;
    setup.hosts[0].clients = clients;
    setup.faults.partitions.clear();
    setup
}

/// Small pieces that cross the borders of chunks: of one file, written and read in different random
/// orders, and of a file for each client, which is only read.
fn small_transfers(clients: u32) -> [Phase; 3] {
    let phase = |name: &str, phase, file, access| {
        let place = match file {
            FileLayout::Shared => Place::Shared(0),
            FileLayout::Own => Place::Own,
        };
        let workload = IoWorkload {
            size_bytes: 20_000,
            transfer_bytes: 3_000,
            block_bytes: 6_000,
            file,
            access,
            ..own_files(clients)
        };
        transfers(name, place, phase, workload, Amount::Operations(7))
    };
    let mut own = phase(
        "read own",
        IoPhase::Read,
        FileLayout::Own,
        Access::Sequential,
    );
    if let Activity::Data(data) = &mut own.activity {
        data.fill = true;
    }
    [
        phase("write", IoPhase::Write, FileLayout::Shared, Access::Random),
        phase("read", IoPhase::Read, FileLayout::Shared, Access::Strided),
        own,
    ]
}

/// Two processes that do all sorts of things, with the same files.
pub fn recorded() -> Phase {
    trace_phase(include_str!("recorded.jsonl"), Place::Shared(0))
}

/// The phase of a trace.
pub fn trace_phase(text: &str, place: Place) -> Phase {
    let trace = Trace::parse("trace", text).expect("a trace");
    Phase {
        name: "trace".into(),
        place,
        amount: Amount::Operations(trace.longest()),
        activity: Activity::Trace(trace.into()),
        think: Latency::ZERO,
        arrivals: None,
    }
}

/// A file of 64 MiB for each client, in transfers of 1 MiB.
pub const fn own_files(clients: u32) -> IoWorkload {
    IoWorkload {
        clients,
        size_bytes: 64 << 20,
        transfer_bytes: 1 << 20,
        block_bytes: 1 << 20,
        file: FileLayout::Own,
        access: Access::Sequential,
    }
}

/// A phase of transfers, of what has been written by an earlier one if they are read.
pub fn transfers(
    name: &str,
    place: Place,
    phase: IoPhase,
    workload: IoWorkload,
    amount: Amount,
) -> Phase {
    let fill = false;
    Phase {
        name: name.into(),
        place,
        activity: Activity::Data(Data {
            phase,
            workload,
            fill,
            shuffled: false,
        }),
        amount,
        think: Latency::ZERO,
        arrivals: None,
    }
}

/// The same with all sorts of faults, two servers and a client on one host, and a shared link.
pub fn faulty(servers: u32, clients: u32, seed: u64) -> Setup {
    let mut setup = mixed(servers, clients, seed);
    setup.hosts[0].servers = 2;
    setup.hosts[0].clients = 1;
    setup.hosts[0].cores = 2;
    setup.phases.truncate(5);
    setup.phases.extend(small_transfers(clients + 1));
    setup.phases.push(recorded());
    setup.network.shared_links = vec![SharedLink {
        name: "trunk".into(),
        bytes_per_s: SERVER_BYTES_PER_S,
    }];
    setup.network.paths[0][0].hops[1].shared_link = Some(0);
    setup.protocol.keep_alive = true;
    setup.protocol.server.lease = Duration::from_millis(200);
    setup.protocol.server.tick = Duration::from_millis(10);
    setup.protocol.client.retry = Duration::from_millis(40);
    setup.protocol.calls.give_up = Duration::from_millis(80);
    setup.faults = Faults {
        lost: 0.03,
        doubled: 0.03,
        late: 0.05,
        late_ns: 3_000_000,
        partitions: vec![HostPartition {
            one: 0,
            other: servers + 1,
            from_ns: 5_000_000,
            until_ns: 60_000_000,
        }],
        dead_clients: vec![(1, 4_000_000)],
        stopped_servers: vec![ServerStop {
            server: 2,
            at_ns: 12_000_000,
            back_ns: 30_000_000,
        }],
    };
    setup
}

/// The results of a world under one executor.
pub fn run_by(setup: &Setup, executor: Executor, threads: u32) -> Measured {
    let options = RunOptions {
        executor,
        threads,
        watch: None,
    };
    run(setup, &options).expect("it runs")
}

/// The same with servers that have disks, and go on with what is on them.
pub fn with_disks(mut setup: Setup, sync: Sync) -> Setup {
    let disk = Disk {
        batch_ns: 2_000.0,
        handed_byte_ns: 0.2,
        latency: Latency::Uniform(200_000, 600_000),
        byte_ns: 1.0,
        recovered_record_ns: 2_000.0,
        held_records: 100,
        reads: None,
    };
    setup.disk = Some((disk, sync));
    setup
}

/// Clients on hosts of their own that read one file at once, which none of them has cached. All
/// hosts have the servers' interface, and nothing but the network takes time.
pub fn broadcast(servers: u32, clients: u32, mib: u64, is_cooperative: bool) -> Setup {
    let mut setup = ppmds(servers, clients, 1_000, 1);
    for host in &mut setup.hosts {
        host.send_bytes_per_s = SERVER_BYTES_PER_S;
        host.receive_bytes_per_s = SERVER_BYTES_PER_S;
    }
    setup.network.message_size = MessageSize::Encoded;
    setup.network.packet_bytes = 65_536;
    setup.store.latency = Latency::ZERO;
    setup.phases = vec![transfers(
        "broadcast",
        Place::Shared(0),
        IoPhase::Read,
        IoWorkload {
            size_bytes: mib << 20,
            file: FileLayout::Shared,
            ..own_files(1)
        },
        Amount::Operations(mib),
    )];
    if let Activity::Data(data) = &mut setup.phases[0].activity {
        data.fill = true;
    }
    if is_cooperative {
        share_caches(&mut setup.protocol);
    }
    setup
}

/// The same with messages that are lost, doubled and late, and a client that dies meanwhile.
pub fn faulty_broadcast(servers: u32, clients: u32, mib: u64, seed: u64) -> Setup {
    with_faults(broadcast(servers, clients, mib, true), seed)
}

/// With messages that are lost, doubled and late, and a client that dies meanwhile.
fn with_faults(mut setup: Setup, seed: u64) -> Setup {
    setup.seed = seed;
    setup.protocol.calls.resend_min = Duration::from_millis(5);
    setup.protocol.client.cache_timeout = Duration::from_millis(20);
    setup.faults = Faults {
        lost: 0.01,
        doubled: 0.02,
        late: 0.05,
        late_ns: 3_000_000,
        dead_clients: vec![(1, 60_000_000)],
        ..Faults::default()
    };
    setup
}

/// Clients on hosts of their own that together read a file once in each of three phases, each time
/// in another order. Otherwise as [`broadcast`].
pub fn epochs(servers: u32, clients: u32, mib: u64) -> Setup {
    let mut setup = broadcast(servers, clients, mib, true);
    let mut phase = setup.phases.remove(0);
    phase.amount = Amount::Operations(mib / u64::from(clients));
    for number in 0..3 {
        if let Activity::Data(data) = &mut phase.activity {
            (data.shuffled, data.fill) = (true, number == 0);
        }
        setup.phases.push(phase.clone());
    }
    setup
}

/// Clients on hosts of their own that each write a file, and then read what another one has
/// written. Otherwise as [`broadcast`].
pub fn exchange(servers: u32, clients: u32, mib: u64, is_cooperative: bool) -> Setup {
    let mut setup = broadcast(servers, clients, mib, is_cooperative);
    let workload = IoWorkload {
        size_bytes: mib << 20,
        ..own_files(clients)
    };
    let phase = |name, phase| {
        let amount = Amount::Operations(mib);
        transfers(name, Place::Shared(0), phase, workload, amount)
    };
    setup.phases = vec![phase("write", IoPhase::Write), phase("read", IoPhase::Read)];
    setup
}

/// The same with messages that are lost, doubled and late, and a client that dies meanwhile.
pub fn faulty_exchange(servers: u32, clients: u32, mib: u64, seed: u64) -> Setup {
    with_faults(exchange(servers, clients, mib, true), seed)
}

/// An exchange with servers that have so much file data in memory, and all of it on disks.
pub fn exchange_on_disks(clients: u32, mib: u64, memory_mib: u32, is_cooperative: bool) -> Setup {
    let mut setup = with_disks(exchange(1, clients, mib, is_cooperative), Sync::Process);
    if let Some((disk, _)) = &mut setup.disk {
        disk.reads = Some(DiskReads {
            memory_mib,
            latency: Latency::Constant(5_000_000),
            byte_ns: 8.0,
        });
    }
    setup
}

/// Clients share their caches from now on.
pub const fn share_caches(protocol: &mut Protocol) {
    protocol.leases = true;
    protocol.calls.leases = true;
    protocol.cooperative = true;
    protocol.client.copy_sums = false;
}
