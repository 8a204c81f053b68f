use super::*;
use crate::world::Path;

const NIC: &str = "[clients.nic]\nbandwidth_mb_per_s = 1\n[servers.nic]\nbandwidth_mb_per_s = 1\n";

fn parse(network: &str) -> Result<Machine, Problem> {
    Machine::parse("machine.toml", &format!("{NIC}[network]\n{network}"))
}

fn error(network: &str) -> String {
    parse(network).unwrap_err().to_string()
}

fn preset(name: &str) -> Machine {
    Machine::read(&presets::document(name).unwrap()).unwrap()
}

fn way(layout: &Layout, from: usize, to: usize) -> &Path {
    let group = |host: usize| layout.hosts[host].group as usize;
    &layout.network.paths[group(from)][group(to)]
}

fn latencies(path: &Path) -> Vec<u64> {
    path.hops.iter().map(|hop| hop.latency_ns).collect()
}

fn shared_links<'a>(layout: &'a Layout, path: &Path) -> Vec<&'a str> {
    let shared = path.hops.iter().filter_map(|hop| hop.shared_link);
    shared
        .map(|link| layout.network.shared_links[link as usize].name.as_str())
        .collect()
}

#[test]
fn all_presets_are_machines_that_hold_a_small_cluster() {
    for name in presets::names() {
        let machine = preset(name);
        assert!(!machine.description.is_empty(), "{name}");
        let layout = machine.lay_out(4, 33).unwrap();
        assert_eq!(layout.hosts.iter().map(|host| host.servers).sum::<u32>(), 4);
        assert_eq!(
            layout.hosts.iter().map(|host| host.clients).sum::<u32>(),
            33
        );
    }
    let problem = presets::document("ppmd").unwrap_err().to_string();
    assert_eq!(problem, "unknown preset `ppmd`; did you mean `ppmds`?");
}

#[test]
fn a_machine_is_the_same_after_it_was_written() {
    for name in presets::names() {
        let machine = preset(name);
        let text = toml::to_string(&machine).unwrap();
        assert_eq!(Machine::parse("written", &text), Ok(machine), "{text}");
    }
}

#[test]
fn the_way_of_ppmds_has_two_switches_of_start_up() {
    let layout = preset("ppmds").lay_out(14, 88).unwrap();
    assert_eq!(layout.hosts.len(), 102);
    let there = way(&layout, 101, 0);
    assert_eq!(there.startup_ns, 32_000);
    assert_eq!(latencies(there), [32_000, 0, 32_000]);
    assert_eq!(there.bytes_per_s, Some(1_250_000_000));
    assert_eq!(latencies(way(&layout, 0, 1)), [32_000]);
    assert_eq!(layout.hosts[0].send_bytes_per_s, 1_250_000_000);
    assert_eq!(layout.hosts[14].send_bytes_per_s, 125_000_000);
    assert!(layout.network.shared_links.is_empty());
}

#[test]
fn hosts_are_spread_over_the_switches_that_they_are_attached_to() {
    let machine = parse(
        "latency_ns = 7
         switches = [{ name = 'a', latency_ns = 1 }, { name = 'b', latency_ns = 2 },
                     { name = 'c', latency_ns = 4, back_plane_mb_per_s = 3 }]
         links = [{ between = ['a', 'b'], bandwidth_mb_per_s = 2, latency_ns = 10, trunk = true },
                  { between = ['c', 'b'], bandwidth_mb_per_s = 1, latency_ns = 20 }]
         clients = ['a', 'b']
         servers = ['c']",
    );
    let layout = machine.unwrap().lay_out(1, 4).unwrap();
    let far = way(&layout, 2, 0);
    assert_eq!(latencies(far), [1, 10, 2, 20, 4, 7]);
    assert_eq!(shared_links(&layout, far), ["a to b", "c"]);
    assert_eq!(far.bytes_per_s, Some(1_000_000));
    assert_eq!(latencies(way(&layout, 3, 0)), [2, 20, 4, 7]);
    assert_eq!(latencies(way(&layout, 0, 1)), [4, 20, 2, 10, 1, 7]);
    assert_eq!(shared_links(&layout, way(&layout, 0, 1)), ["c", "b to a"]);
}

#[test]
fn without_switches_there_is_a_latency_alone() {
    let layout = parse("latency_ns = 5").unwrap().lay_out(2, 2).unwrap();
    let there = way(&layout, 3, 1);
    assert_eq!((latencies(there), there.bytes_per_s), (vec![5], None));
}

#[test]
fn several_processes_share_a_host_and_clients_may_be_among_servers() {
    let text = "[network]\n[servers]\nprocesses = 2\ncores = 4\nnic.bandwidth_mb_per_s = 1";
    let machine = Machine::parse("machine.toml", text).unwrap();
    let layout = machine.lay_out(3, 5).unwrap();
    let found: Vec<_> = layout
        .hosts
        .iter()
        .map(|host| (host.servers, host.clients, host.cores))
        .collect();
    assert_eq!(found, [(2, 3, 4), (1, 2, 4)]);
}

#[test]
fn bytes_cost_more_through_many_connections() {
    let text = "[network]\n[servers]\nprocesses = 64\ncores = 2\n\
                many_connections = { from = 2, until = 16, times = 3 }\nnic.bandwidth_mb_per_s = 1";
    let machine = Machine::parse("machine.toml", text).unwrap();
    let times = |servers, clients| {
        let layout = machine.lay_out(servers, clients).unwrap();
        layout.hosts[0].byte_times
    };
    for (servers, clients, expected) in [
        (1, 1, 1.0),
        (1, 2, 1.0),
        (3, 3, 2.0),
        (4, 4, 3.0),
        (8, 9, 3.0),
    ] {
        assert_eq!(times(servers, clients), expected, "{servers} {clients}");
    }
}

/// Ports 4: two hosts an edge switch, four a pod, sixteen in all.
#[test]
fn a_fat_tree_takes_shortest_ways() {
    let tree =
        "fat_tree = { ports = 4, bandwidth_mb_per_s = 1, latency_ns = 3, shared_links = true }";
    let layout = parse(tree).unwrap().lay_out(8, 8).unwrap();
    assert_eq!(latencies(way(&layout, 0, 1)), [3]);
    assert_eq!(latencies(way(&layout, 0, 2)), [3, 0, 3, 0, 3]);
    assert_eq!(latencies(way(&layout, 0, 4)), [3, 0, 3, 0, 3, 0, 3, 0, 3]);
    let shared = |from, to| shared_links(&layout, way(&layout, from, to));
    assert_eq!(shared(0, 3), ["edge up 1", "edge down 3"]);
    assert_eq!(shared(5, 7), ["edge up 5", "edge down 7"]);
    let far = [
        "edge up 1",
        "aggregation up 3",
        "aggregation down 15",
        "edge down 15",
    ];
    assert_eq!(shared(1, 15), far);
}

#[test]
fn a_fat_tree_without_shared_links_keeps_one_way_for_an_edge_switch() {
    let tree = "fat_tree = { ports = 4, bandwidth_mb_per_s = 1, latency_ns = 3 }";
    let layout = parse(tree).unwrap().lay_out(8, 8).unwrap();
    assert_eq!(layout.network.paths.len(), 8);
    assert_eq!(latencies(way(&layout, 1, 0)), [3]);
    assert_eq!(latencies(way(&layout, 1, 3)), [3, 0, 3, 0, 3]);
    assert_eq!(latencies(way(&layout, 1, 15)).len(), 9);
}

#[test]
fn every_receiver_of_a_fat_tree_has_last_links_of_its_own() {
    let tree = "fat_tree = { ports = 6, bandwidth_mb_per_s = 1, shared_links = true }";
    let layout = parse(tree).unwrap().lay_out(54, 0).unwrap();
    let mut all = std::collections::BTreeSet::new();
    for to in 0..54 {
        let mut last = std::collections::BTreeSet::new();
        for from in (0..54).filter(|from| from / 9 != to / 9) {
            let shared = shared_links(&layout, way(&layout, from, to));
            assert_eq!(shared.len(), 4);
            last.insert((shared[2], shared[3]));
        }
        assert_eq!(last.len(), 1, "{to}");
        all.append(&mut last);
    }
    assert_eq!(all.len(), 54);
}

#[test]
fn mistakes_of_machines_are_reported() {
    let two = "switches = [{ name = 'a' }, { name = 'b' }]\nclients = ['a']\nservers = ['b']\n";
    let link = |rate: &str| format!("{{ between = ['a', 'b'], bandwidth_mb_per_s = {rate} }}");
    let small = parse("fat_tree = { ports = 4, bandwidth_mb_per_s = 1 }").unwrap();
    let errors = [
        error(&format!("{two}links = [{}]", link("0"))),
        error(&format!("{two}links = [{},\n {}]", link("1"), link("1"))),
        error(two),
        error("switches = [{ name = 'a' }, { name = 'a' }]\nclients = ['a']\nservers = ['a']"),
        error("switches = [{ name = 'switch' }]\nclients = ['swich']\nservers = ['switch']"),
        error("switches = [{ name = 'a' }]\nclients = ['a']"),
        error("startup_n = 3"),
        error("startup_ns = -3"),
        error("fat_tree = { ports = 5, bandwidth_mb_per_s = 1 }"),
        error("[store]\nlatency = { constan = 3 }"),
        error("[costs.server]\ninput = 3"),
        error("[costs.client.request_ns]\nlookup = 3\nread_chnk = 3"),
        error("[servers.many_connections]\nfrom = 4\nuntil = 4\ntimes = 1"),
        small.lay_out(10, 10).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}
