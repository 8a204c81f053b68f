//! The machine file.

use super::{
    costs::{Costs, Side},
    measure::{Cost, Measured},
};
use crate::commands::twin::spread::Spread;
use crate::simulation::VERSION;
use std::fmt::Write;

/// The file of a host with so many cores. What was measured is beside what follows from it.
pub fn text(measured: &Measured, costs: &Costs, cores: usize) -> String {
    let Costs {
        server,
        client,
        transit_ns,
        pass_ns,
    } = costs;
    let wake_up = measured.wake_up_ns;
    format!(
        "description = \"This host, measured by {VERSION} with one server and one client\"\n\n\
         # Clients and servers are processes of one host and share its cores.\n\
         [servers]\nprocesses = 4096\ncores = {cores}\nnic = {{ bandwidth_mb_per_s = 10_000 }}\n\n\
         # From the end of one side's work until the other one, which looks for it, has found it.\n\
         [network]\nlocal_ns = {transit_ns:.0}\npacket_bytes = 65_536\n\n\
         # Between two threads; {}.\n\
         [costs]\nwake_up_ns = {:.0}\n\n\
         # A look in vain and the change to the next process of the core.\n\
         [costs.looking]\npass_ns = {pass_ns:.0}\n\n\
         [costs.client]\nlisted_name_ns = {:.1}\n{}\n\
         [costs.server]\ninput_ns = {:.0}\nrecord_scanned_ns = {:.1}\n{}\n\
         {}",
        spread(wake_up),
        wake_up.median,
        client.listed_name_ns,
        side(
            client,
            "client",
            [client.byte_read_ns, client.byte_written_ns]
        ),
        typical_ns(server),
        server.listed_name_ns,
        side(
            server,
            "server",
            [server.byte_written_ns, server.byte_read_ns]
        ),
        figures(measured),
    )
}

/// What both sides have.
fn side(costs: &Side, name: &str, [received_ns, sent_ns]: [f64; 2]) -> String {
    let mut text = format!(
        "turn_ns = {:.0}\nbyte_received_ns = {received_ns:.4}\nbyte_sent_ns = {sent_ns:.4}\n\n\
         [costs.{name}.request_ns]\n",
        costs.turn_ns
    );
    for (request, request_ns) in &costs.request_ns {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{request} = {request_ns:.0}");
    }
    text
}

/// What a request costs of which nothing is known.
fn typical_ns(server: &Side) -> f64 {
    Spread::of(server.request_ns.values().copied().collect()).median
}

/// What was measured, as a comment.
fn figures(measured: &Measured) -> String {
    let mut text = "# Measured for an operation, in nanoseconds: the server's work, the client's, and from beginning\n\
                    # to end; medians, least and most of all rounds.\n"
        .to_owned();
    let alone = measured.alone.iter();
    let alone = alone.map(|(name, cost)| (name.as_str(), cost));
    let others = [
        ("stat, several at once", &measured.at_once),
        ("stat, on one core", &measured.on_one_core),
    ];
    for (name, cost) in alone.chain(others) {
        text += &figure(name, cost);
    }
    text
}

fn figure(name: &str, cost: &Cost) -> String {
    let [server, client, all] = [cost.server_ns, cost.client_ns, cost.latency_ns].map(spread);
    format!("# {name}: {server}; {client}; {all}\n")
}

fn spread(figure: Spread) -> String {
    format!(
        "{:.0} ({:.0} to {:.0})",
        figure.median, figure.least, figure.most
    )
}
