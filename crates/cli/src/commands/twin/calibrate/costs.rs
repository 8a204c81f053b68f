//! The costs of a machine, as they follow from the measurements.

use super::measure::{self, AT_ONCE, Cost, LISTED_FILES, MANY_FILES, Measured, TRANSFER_BYTES};
use crate::commands::twin::spread::Spread;
use std::collections::BTreeMap;

/// The most names that an operation lists.
const PAGE_NAMES: f64 = 1000.0;

/// The costs of one side, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// For all messages that it finds together.
    pub batch_ns: f64,
    /// For each request of a name.
    pub request_ns: BTreeMap<String, f64>,
    /// For each name of a listing.
    pub listed_name_ns: f64,
    /// The same in a directory of [`MANY_FILES`].
    pub listed_of_many_ns: f64,
    /// For each byte of data that is written.
    pub written: ByteCost,
    /// For each byte of data that is read.
    pub read: ByteCost,
    /// Besides, over sockets.
    pub sockets: Surcharge,
}

/// The cost of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByteCost {
    /// In nanoseconds.
    pub ns: f64,
    /// The same where the server holds more than caches do.
    pub of_much_ns: f64,
    /// How many times as much it is where both sides share a core, so that all of a message is
    /// there when it is found.
    pub found_whole: f64,
}

/// Additional costs of messages, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surcharge {
    /// For all messages that it finds together.
    pub batch_ns: f64,
    /// For each byte of data that is written.
    pub byte_written_ns: f64,
    /// For each byte of data that is read.
    pub byte_read_ns: f64,
}

/// The costs of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    pub server: Side,
    pub client: Side,
    /// For waking a server that has blocked.
    pub woken_ns: f64,
    /// How long a server has nothing to do between operations one after the other, and how long
    /// where the client thinks. On a host that others keep busy it may not be longer there; then
    /// nothing follows.
    pub idle_ns: Option<[f64; 2]>,
    /// By what part its work is dearer then.
    pub after_idle_more: f64,
    /// From the end of one side's work until the other has found the message.
    pub transit_ns: f64,
    /// By what part work is dearer after another process of the core.
    pub after_other: f64,
    /// A poll that finds nothing and the switch to another process.
    pub pass_ns: f64,
    /// The time of a message over sockets, without all work and the wake-up of a server.
    pub sockets_ns: f64,
    /// The time to hand a change to the system of the disk, and each byte of it.
    pub handed_ns: f64,
    pub handed_byte_ns: f64,
    /// The time of a synchronization, and of each byte that it writes.
    pub disk_ns: f64,
    pub disk_byte_ns: f64,
}

/// Phases whose operations are one small request each, and which are measured wherever messages
/// are.
const SINGLE_REQUESTS: [&str; 4] = ["create", "stat", "write-first", "read-first"];

/// A figure of one side.
type Figure = fn(&Cost) -> f64;

impl Costs {
    /// The costs that follow from measurements.
    pub fn of(measured: &Measured) -> Self {
        let [server, client] = [server_ns, client_ns].map(|figure| Side::of(measured, figure));
        let [stat, after_idle] =
            ["stat", "stat-after-idle"].map(|phase| cost(&measured.alone, phase));
        let over_sockets = cost(&measured.sockets, "stat");
        let on_one_core = cost(&measured.on_one_core, "stat");
        let [handed_ns, handed_byte_ns] = line(measured.handed_ns);
        let [disk_ns, disk_byte_ns] = line(measured.disk_ns);
        Self {
            server,
            client,
            woken_ns: woken_ns(&measured.alone),
            idle_ns: longer([&stat, &after_idle].map(idle_ns)),
            after_idle_more: (server_ns(&after_idle) / server_ns(&stat) - 1.0).max(0.0),
            transit_ns: waited_ns(&stat),
            after_other: after_other(&on_one_core, &stat),
            pass_ns: waited_ns(&on_one_core),
            sockets_ns: (waited_ns(&over_sockets) - measured.wake_up_ns.middle / 2.0).max(0.0),
            handed_ns,
            handed_byte_ns,
            disk_ns,
            disk_byte_ns,
        }
    }
}

/// The time of a message, without the work of both sides.
fn waited_ns(cost: &Cost) -> f64 {
    (cost.latency_ns.middle - server_ns(cost) - client_ns(cost)).max(0.0) / 2.0
}

/// By what part the work of both sides is dearer where they share a core.
fn after_other(on_one_core: &Cost, alone: &Cost) -> f64 {
    let work_ns = |cost: &Cost| server_ns(cost) + client_ns(cost);
    (work_ns(on_one_core) / work_ns(alone) - 1.0).max(0.0)
}

fn server_ns(cost: &Cost) -> f64 {
    cost.server_ns.middle
}

fn client_ns(cost: &Cost) -> f64 {
    cost.client_ns.middle
}

fn cost(costs: &measure::Costs, phase: &str) -> Cost {
    costs.get(phase).cloned().unwrap_or_default()
}

impl Side {
    fn of(measured: &Measured, figure: Figure) -> Self {
        let of = |phase: &str| figure(&cost(&measured.alone, phase));
        let mut side = Self {
            batch_ns: batch_ns(of("stat"), figure(&measured.at_once)),
            ..Self::default()
        };
        for (phase, request) in [
            ("stat", "lookup"),
            ("create", "create"),
            ("unlink", "unlink"),
            ("make-directory", "make_directory"),
        ] {
            side.set(request, of(phase));
        }
        side.set_transactions(of("rename"));
        let (names, listed_ns) = (
            LISTED_FILES.map(mean_names),
            ["list-few", "list-many"].map(of),
        );
        // Where records of few files are cheaper, the line would have a listing without names cost
        // less than nothing.
        side.listed_name_ns = slope(names, listed_ns).min(listed_ns[1] / names[1]);
        let once_ns = (listed_ns[0] - side.listed_name_ns * names[0]).max(0.0);
        side.set("read_directory", once_ns);
        side.listed_of_many_ns =
            ((of("list-more") - once_ns) / mean_names(MANY_FILES)).max(side.listed_name_ns);
        [side.written, side.read] = [["write", "write_chunk"], ["read", "read_chunk"]]
            .map(|requests| side.set_data(measured, figure, requests));
        side.sockets = side.surcharge(&measured.alone, &measured.sockets, figure);
        side
    }

    /// By how much messages and bytes are dearer where they were measured once more.
    fn surcharge(
        &self,
        alone: &measure::Costs,
        dear: &measure::Costs,
        figure: Figure,
    ) -> Surcharge {
        let byte_ns = |home: &str| {
            let sizes =
                ["first", "large"].map(|size| figure(&cost(dear, &format!("{home}-{size}"))));
            slope(TRANSFER_BYTES, sizes)
        };
        Surcharge {
            batch_ns: more_ns(alone, dear, figure),
            byte_written_ns: (byte_ns("write") - self.written.ns).max(0.0),
            byte_read_ns: (byte_ns("read") - self.read.ns).max(0.0),
        }
    }

    /// An operation is one request and one batch.
    fn set(&mut self, request: &str, operation_ns: f64) {
        let request_ns = (operation_ns - self.batch_ns).max(0.0);
        self.request_ns.insert(request.to_owned(), request_ns);
    }

    /// A rename looks for both names at once, and changes them then; each server of a transaction
    /// prepares as much.
    fn set_transactions(&mut self, rename_ns: f64) {
        let lookup_ns = self.request_ns.get("lookup").copied().unwrap_or_default();
        let change_ns = rename_ns - 2.0 * lookup_ns - self.batch_ns;
        for request in ["execute", "prepare"] {
            self.set(request, change_ns);
        }
    }

    /// The costs of the requests about data at a file's home and elsewhere. Returns that of a byte.
    fn set_data(
        &mut self,
        measured: &Measured,
        figure: Figure,
        [home, chunk]: [&str; 2],
    ) -> ByteCost {
        let phase = |size: &str| cost(&measured.alone, &format!("{home}-{size}"));
        let [first, small, large, much] = ["first", "small", "large", "much"].map(phase);
        let on_one_core = cost(&measured.on_one_core, &format!("{home}-large"));
        let chunks = |cost: &Cost| cost.requests.get(chunk).copied().unwrap_or_default();
        // All transfers of the first chunk are one request to the home, others may be one more.
        let more_ns = match chunks(&small) {
            0.0 => 0.0,
            chunks => ((figure(&small) - figure(&first)) / chunks).max(0.0),
        };
        let [byte_ns, of_much_ns, on_one_core_ns] = [large, much, on_one_core].map(|large| {
            let large_ns = figure(&large) - chunks(&large) * more_ns;
            slope(TRANSFER_BYTES, [figure(&first), large_ns])
        });
        let found_whole = match on_one_core_ns > 0.0 && byte_ns > 0.0 {
            true => on_one_core_ns / byte_ns,
            false => 1.0,
        };
        self.set(home, figure(&first) - byte_ns * TRANSFER_BYTES[0]);
        // One server may never be sent it: then it costs what the other one does.
        let home_ns = self.request_ns.get(home).copied().unwrap_or_default();
        let chunk_ns = if more_ns > 0.0 { more_ns } else { home_ns };
        self.request_ns.insert(chunk.to_owned(), chunk_ns);
        ByteCost {
            ns: byte_ns,
            of_much_ns: of_much_ns.max(byte_ns),
            found_whole,
        }
    }
}

/// Both times, if the second one is longer by a nanosecond at least.
fn longer(times_ns: [f64; 2]) -> Option<[f64; 2]> {
    let [shorter, longer] = times_ns.map(f64::round);
    (shorter.max(1.0) < longer).then_some(times_ns)
}

/// How long the server has nothing to do.
fn idle_ns(cost: &Cost) -> f64 {
    cost.latency_ns.middle - server_ns(cost)
}

/// By how much the work of both sides is dearer where the client thinks until the server sleeps.
fn woken_ns(alone: &measure::Costs) -> f64 {
    let [idle, sleep] = ["stat-after-idle", "stat-after-sleep"].map(|phase| {
        let cost = cost(alone, phase);
        server_ns(&cost) + client_ns(&cost)
    });
    (sleep - idle).max(0.0)
}

/// By how much a small message is dearer where it was measured once more.
fn more_ns(alone: &measure::Costs, dear: &measure::Costs, figure: Figure) -> f64 {
    let more_ns =
        SINGLE_REQUESTS.map(|phase| figure(&cost(dear, phase)) - figure(&cost(alone, phase)));
    (more_ns.iter().sum::<f64>() / more_ns.len() as f64).max(0.0)
}

/// The cost of one poll that finds messages. Single operations pay it each time, several at once
/// pay it once.
fn batch_ns(alone_ns: f64, at_once_ns: f64) -> f64 {
    let count = AT_ONCE as f64;
    ((alone_ns - at_once_ns) * count / (count - 1.0)).clamp(0.0, alone_ns)
}

/// By how much something grows.
fn slope(at: [f64; 2], value: [f64; 2]) -> f64 {
    ((value[1] - value[0]) / (at[1] - at[0])).max(0.0)
}

/// The time of a transfer without data, and of each byte.
fn line(times: [Spread; 2]) -> [f64; 2] {
    let ns = times.map(|figure| figure.middle);
    let byte_ns = slope(TRANSFER_BYTES, ns);
    [(ns[0] - byte_ns * TRANSFER_BYTES[0]).max(0.0), byte_ns]
}

/// How many names a listing brings that begins at any of so many files with the same probability.
fn mean_names(files: u64) -> f64 {
    let files = files as f64;
    let short = files.min(PAGE_NAMES);
    (files - short + short / 2.0) / files * short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_that_begin_near_the_end_are_shorter() {
        assert_eq!(mean_names(400), 200.0);
        assert_eq!(mean_names(1000), 500.0);
        assert_eq!(mean_names(4000), 875.0);
    }

    #[test]
    fn a_batch_is_what_several_operations_at_once_save() {
        // One: 3 + 2. Eight: 3 + 8 x 2 = 19, for each 2.375.
        assert_eq!(batch_ns(5.0, 2.375), 3.0);
        assert_eq!(batch_ns(5.0, 6.0), 0.0);
    }
}
