//! The machine file.

use super::{
    costs::{Costs, Side},
    measure::{Cost, DATA_MIB, LISTED_FILES, MANY_FILES, Measured},
    memory,
};
use crate::commands::twin::spread::Spread;
use crate::simulation::VERSION;
use std::fmt::Write;

/// The machine file of a host with `cores` cores. Measurements stand beside the costs that follow.
pub fn text(measured: &Measured, costs: &Costs, cores: usize) -> String {
    let Costs { server, client, .. } = costs;
    format!(
        "description = \"This host, measured by {VERSION} with one server and one client\"\n\n\
         {}{}\
         [costs.client]\nother_request_ns = {:.0}\nlisted_name_ns = {:.1}\n{}\n\
         [costs.server]\ninput_ns = {:.0}\nrecord_scanned_ns = {:.1}\nmany_files = {}\n{}\n\
         {}",
        host(measured, costs, cores),
        looking(measured, costs),
        typical_ns(client),
        client.listed_name_ns,
        side(client, "client", |[written_ns, read_ns]| [
            read_ns, written_ns
        ]),
        typical_ns(server),
        server.listed_name_ns,
        many_files(server),
        side(server, "server", |bytes_ns| bytes_ns),
        figures(measured),
    )
}

/// The host, its network and its disk.
fn host(measured: &Measured, costs: &Costs, cores: usize) -> String {
    format!(
        "# Clients and servers are processes of one host and share its cores.\n\
         # All cores together copy so much, in MB a second: {}; one core: {}.\n\
         [servers]\nprocesses = 4096\ncores = {cores}\n{}{}\
         nic = {{ bandwidth_mb_per_s = 10_000 }}\n\n\
         # local: from the end of one side's work until the other one, which looks for it, has found it.\n\
         # latency: the same over sockets of this host, where it sleeps; a network takes its time besides.\n\
         [network]\nlocal_ns = {:.0}\nlatency_ns = {:.0}\npacket_bytes = 65_536\n\n{}",
        spread(measured.host_bytes_per_s.scaled(1e-6)),
        spread(measured.core_bytes_per_s.scaled(1e-6)),
        many_connections(measured, cores),
        surroundings(measured),
        costs.transit_ns,
        costs.sockets_ns,
        disk(measured, costs),
    )
}

fn disk(measured: &Measured, costs: &Costs) -> String {
    let [handed, handed_large] = measured.handed_ns.map(spread);
    let [small, large] = measured.disk_ns.map(spread);
    format!(
        "# Until the system has 4 KiB: {handed}; 1 MiB: {handed_large}.\n\
         # From then until 4 KiB are on the disk: {small}; 1 MiB: {large}.\n\
         # For each record of the log that a server reads when it comes back: {}.\n\
         [disk]\nbatch_ns = {:.0}\nhanded_byte_ns = {:.3}\n\
         latency = {{ constant_ns = {:.0} }}\nbyte_ns = {:.3}\n\
         recovered_record_ns = {:.0}\n\n",
        spread(measured.recovered_record_ns),
        costs.handed_ns,
        costs.handed_byte_ns,
        costs.disk_ns,
        costs.disk_byte_ns,
        measured.recovered_record_ns.middle,
    )
}

/// How much longer the host takes to copy through many connections.
fn many_connections(measured: &Measured, cores: usize) -> String {
    let [few, many] = memory::CONNECTIONS.map(|connections| connections * cores);
    let rate = measured.host_bytes_per_s_through_many;
    let times = (measured.host_bytes_per_s.middle / rate.middle).max(1.0);
    format!(
        "# Through {many} connections: {}.\n\
         many_connections = {{ from = {few}, until = {many}, times = {times:.2} }}\n",
        spread(rate.scaled(1e-6)),
    )
}

/// The state of the host in the phases that count.
fn surroundings(measured: &Measured) -> String {
    let [like, all] = measured.like_phases;
    let line = |name: &str, ns: Option<f64>| {
        ns.map_or_else(String::new, |ns| format!("{name} = {ns:.1}\n"))
    };
    format!(
        "# Where a line takes so long from core to core, cores compute as fast and nobody else works, {like} of {all} phases were measured; \
         of each kind four count in any case.\n{}{}",
        line("handover_ns", measured.usual.handover_ns),
        line("computation_ns", measured.usual.computation_ns),
    )
}

fn looking(measured: &Measured, costs: &Costs) -> String {
    let after_idle = costs.idle_ns.map_or_else(String::new, |[from_ns, until_ns]| {
        let more = costs.after_idle_more;
        format!(
            "after_idle = {{ from_ns = {from_ns:.0}, until_ns = {until_ns:.0}, more = {more:.2} }}\n"
        )
    });
    format!(
        "# Between two threads; {}.\n\
         [costs]\nwake_up_ns = {:.0}\n\n\
         # A poll that finds nothing and the switch to the next process of the core.\n\
         [costs.looking]\npass_ns = {:.0}\nwoken_ns = {:.0}\n\
         {after_idle}\
         after_other = {:.2}\n\n",
        spread(measured.wake_up_ns),
        measured.wake_up_ns.middle,
        costs.pass_ns,
        costs.woken_ns,
        costs.after_other,
    )
}

/// The costs of one side. `directions` maps costs of written and read bytes to costs of received
/// and sent ones.
fn side(costs: &Side, name: &str, directions: fn([f64; 2]) -> [f64; 2]) -> String {
    let messages = |batch_ns: f64, bytes_ns: [f64; 2]| {
        let [received_ns, sent_ns] = directions(bytes_ns);
        format!(
            "batch_ns = {batch_ns:.0}\nbyte_received_ns = {received_ns:.4}\nbyte_sent_ns = {sent_ns:.4}\n"
        )
    };
    let bytes = [costs.written, costs.read];
    let mut text = messages(costs.batch_ns, bytes.map(|byte| byte.ns));
    // Writing to a string does not fail.
    let [from_mib, until_mib] = DATA_MIB;
    let [received_ns, sent_ns] = directions(bytes.map(|byte| byte.of_much_ns));
    let _ = writeln!(
        text,
        "much_data = {{ from_mib = {from_mib}, until_mib = {until_mib}, \
         byte_received_ns = {received_ns:.4}, byte_sent_ns = {sent_ns:.4} }}"
    );
    let [found_whole, _] = directions(bytes.map(|byte| byte.found_whole));
    let _ = writeln!(text, "found_whole = {found_whole:.2}");
    let more = &costs.sockets;
    let more = messages(more.batch_ns, [more.byte_written_ns, more.byte_read_ns]);
    let _ = write!(text, "\n[costs.{name}.sockets]\n{more}");
    let _ = writeln!(text, "\n[costs.{name}.request_ns]");
    for (request, request_ns) in &costs.request_ns {
        let _ = writeln!(text, "{request} = {request_ns:.0}");
    }
    text
}

/// The cost of a record in directories of many files.
fn many_files(server: &Side) -> String {
    format!(
        "{{ from = {}, until = {MANY_FILES}, record_scanned_ns = {:.1} }}",
        LISTED_FILES[1], server.listed_of_many_ns
    )
}

/// The cost of a request without a measurement.
fn typical_ns(side: &Side) -> f64 {
    Spread::of(side.request_ns.values().copied().collect()).middle
}

/// The measurements, as a comment.
fn figures(measured: &Measured) -> String {
    let mut text = "# Measured for an operation, in nanoseconds: the server's work, the client's, and from its\n\
                    # beginning to that of the next one; means of the middle half, least and most of all rounds.\n"
        .to_owned();
    for (place, costs) in [
        ("", &measured.alone),
        (", sockets", &measured.sockets),
        (", on one core", &measured.on_one_core),
    ] {
        for (name, cost) in costs {
            text += &figure(&format!("{name}{place}"), cost);
        }
    }
    text + &figure("stat, several at once", &measured.at_once)
}

fn figure(name: &str, cost: &Cost) -> String {
    let [server, client, all] = [cost.server_ns, cost.client_ns, cost.latency_ns].map(spread);
    format!("# {name}: {server}; {client}; {all}\n")
}

fn spread(figure: Spread) -> String {
    format!(
        "{:.0} ({:.0} to {:.0})",
        figure.middle, figure.least, figure.most
    )
}
