//! Whether a setup makes sense.

use super::{Activity, Amount, Data, Disk, Host, Latency, Mix, OperationKind, Phase, Place, Setup};

use futago_lab::{
    document::bounds,
    workload::{FileLayout, IoPhase},
};

/// Why a world cannot be made, or did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The setup makes no sense: which part of it, and why.
    #[error("{part}: {reason}")]
    Setup {
        /// Such as `hosts[3].cores`.
        part: String,
        /// The fault.
        reason: String,
    },
    /// The engine could not run it.
    #[error(transparent)]
    Engine(#[from] futago_des::Error),
    /// An event could not be taken back: a mistake in the world itself.
    #[error(transparent)]
    Undo(#[from] futago_des::checker::Broken),
}

/// The rule for latencies.
const LATENCY: &str =
    "times must be between 0 and an hour, and the first of a span not above the second";

fn wrong(part: impl Into<String>, reason: impl Into<String>) -> Error {
    let (part, reason) = (part.into(), reason.into());
    Error::Setup { part, reason }
}

fn require(holds: bool, part: impl FnOnce() -> String, reason: &str) -> Result<(), Error> {
    if holds {
        Ok(())
    } else {
        Err(wrong(part(), reason))
    }
}

fn check_buckets(buckets: u64, part: impl FnOnce() -> String) -> Result<(), Error> {
    let tiles = buckets.is_power_of_two() && buckets <= 1 << 20;
    require(tiles, part, "it must be a power of two, up to 1048576")
}

fn check_mix(mix: &Mix, place: Place, part: impl Fn(&str) -> String) -> Result<(), Error> {
    let weighs = mix.operations.iter().any(|&(_, weight)| weight > 0);
    let reason = "some operation has a weight above zero";
    require(weighs, || part("mix"), reason)?;
    let mixed = |(kind, _): &(OperationKind, u32)| kind.is_mixed();
    let reason = "all of it are operations on names";
    require(mix.operations.iter().all(mixed), || part("mix"), reason)?;
    let shared = mix.common == 0 || place != Place::Own;
    let reason = "common files lie in a directory that clients share";
    require(shared, || part("common"), reason)?;
    let reason = "its exponent must be above zero";
    require(mix.popularity.is_valid(), || part("popularity"), reason)
}

/// Whether no two clients of a phase change the same thing at once. Other phases have not been
/// tried with leases.
fn is_for_leases(phase: &Phase) -> bool {
    match &phase.activity {
        Activity::Names(mix) => {
            let mut kinds = mix.operations.iter().map(|(kind, _)| kind);
            kinds.all(|kind| kind.reads()) && mix.common <= 1 && phase.place != Place::Own
        }
        Activity::Data(data) => data.is_common() || data.workload.file == FileLayout::Own,
        Activity::Trace(_) => false,
    }
}

/// Checks when operations of a phase begin, and how long it lasts.
fn check_times(phase: &Phase, part: impl Fn(&str) -> String) -> Result<(), Error> {
    require(phase.think.is_valid(), || part("think"), LATENCY)?;
    if let Some(arrivals) = phase.arrivals {
        let reason = "it must be above zero, and not above a billion";
        require(arrivals.is_valid(), || part("arrivals.per_s"), reason)?;
        let reason = "what arrives does not wait for the end of what came before";
        require(phase.think == Latency::ZERO, || part("think"), reason)?;
    }
    let lasts = match phase.amount {
        Amount::Operations(count) => count > 0,
        Amount::Duration { measured_ns, .. } => measured_ns > 0,
    };
    require(lasts, || part("amount"), "it must be above zero")
}

impl Setup {
    /// How many servers there are.
    pub fn server_count(&self) -> usize {
        self.hosts.iter().map(|host| host.servers as usize).sum()
    }

    /// How many clients there are.
    pub fn client_count(&self) -> usize {
        self.hosts.iter().map(|host| host.clients as usize).sum()
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] with the part that does not.
    pub fn check(&self) -> Result<(), Error> {
        require(
            self.client_count() > 0,
            || "hosts".into(),
            "there is no client",
        )?;
        for (index, host) in self.hosts.iter().enumerate() {
            self.check_host(index, host)?;
        }
        self.check_costs()?;
        self.check_network()?;
        self.check_store()?;
        self.check_disk()?;
        self.check_directories()?;
        for index in 0..self.phases.len() {
            self.check_phase(index)?;
        }
        self.check_faults()
    }

    fn check_costs(&self) -> Result<(), Error> {
        let many = self.costs.server.many_files;
        require(
            many.is_none_or(|many| many.from.max(1) < many.until),
            || "costs.server.many_files".into(),
            "`until` must be more than `from`, and than 1",
        )?;
        for (name, much) in [
            ("costs.server.much_data", self.costs.server.much_data),
            ("costs.client.much_data", self.costs.client.much_data),
        ] {
            require(
                much.is_none_or(|much| much.from_mib < much.until_mib),
                || name.into(),
                "`until_mib` must be more than `from_mib`",
            )?;
        }
        let after_idle = self.costs.looking.and_then(|looking| looking.after_idle);
        require(
            after_idle.is_none_or(|after| after.from_ns.max(1) < after.until_ns),
            || "costs.looking.after_idle".into(),
            "`until_ns` must be more than `from_ns`, and than 1",
        )
    }

    fn check_host(&self, index: usize, host: &Host) -> Result<(), Error> {
        let part = |field: &str| format!("hosts[{index}].{field}");
        let groups = self.network.paths.len();
        let within = (host.group as usize) < groups;
        require(within, || part("group"), "network.paths has no such group")?;
        require(host.cores > 0, || part("cores"), "a host has at least one")?;
        let speeds = [host.send_bytes_per_s, host.receive_bytes_per_s];
        let moves = speeds.iter().all(|&speed| speed > 0);
        require(
            moves,
            || part("send_bytes_per_s"),
            "a bandwidth is above zero",
        )?;
        let copies = host.memory_bytes_per_s != Some(0);
        require(
            copies,
            || part("memory_bytes_per_s"),
            "a bandwidth is above zero",
        )?;
        require(
            host.byte_times > 0.0,
            || part("byte_times"),
            "it must be above zero",
        )
    }

    fn check_network(&self) -> Result<(), Error> {
        let network = &self.network;
        let packets = network.packet_bytes > 0;
        require(
            packets,
            || "network.packet_bytes".into(),
            "it must be above zero",
        )?;
        let links = network.shared_links.len();
        for (index, link) in network.shared_links.iter().enumerate() {
            let part = || format!("network.shared_links[{index}].bytes_per_s");
            require(link.bytes_per_s > 0, part, "a bandwidth is above zero")?;
        }
        for (from, row) in network.paths.iter().enumerate() {
            let part = || format!("network.paths[{from}]");
            let square = row.len() == network.paths.len();
            require(square, part, "there is one path to each group")?;
            for (to, path) in row.iter().enumerate() {
                let part = || format!("network.paths[{from}][{to}]");
                require(
                    path.bytes_per_s != Some(0),
                    part,
                    "a bandwidth is above zero",
                )?;
                let mut shared = path.hops.iter().filter_map(|hop| hop.shared_link);
                let known = shared.all(|link| (link as usize) < links);
                require(known, part, "there is no such shared link")?;
            }
        }
        Ok(())
    }

    fn check_disk(&self) -> Result<(), Error> {
        let disk = self.disk.map_or_else(Disk::default, |(disk, _)| disk);
        require(disk.latency.is_valid(), || "disk.latency".into(), LATENCY)?;
        let reads = disk.reads.unwrap_or_default();
        let part = || "disk.reads.latency".into();
        require(reads.latency.is_valid(), part, LATENCY)?;
        require(
            disk.recovery_ns(0) <= bounds::HOUR_NS,
            || "disk.held_records".into(),
            "a server must be able to read them within an hour",
        )
    }

    fn check_store(&self) -> Result<(), Error> {
        let drawable = self.store.latency.is_valid();
        require(drawable, || "store.latency".into(), LATENCY)?;
        let byte_ns = self.store.byte_ns;
        let takes_time = byte_ns.is_finite() && byte_ns >= 0.0;
        require(
            takes_time,
            || "store.byte_ns".into(),
            "it must not be below zero",
        )?;
        let places = self.store.concurrency != Some(0);
        require(
            places,
            || "store.concurrency".into(),
            "it must be above zero",
        )
    }

    fn check_directories(&self) -> Result<(), Error> {
        for (index, directory) in self.directories.iter().enumerate() {
            let part = |field: &str| format!("directories[{index}].{field}");
            check_buckets(directory.buckets, || part("buckets"))?;
            futago_base::Name::new(directory.name.clone())
                .map_err(|_| wrong(part("name"), "no entry can have this name"))?;
        }
        check_buckets(self.wide.buckets, || "wide.buckets".into())
    }

    fn check_phase(&self, index: usize) -> Result<(), Error> {
        let phase = &self.phases[index];
        let part = |field: &str| format!("phases[{index}].{field}");
        match &phase.activity {
            Activity::Names(mix) => check_mix(mix, phase.place, part)?,
            Activity::Data(data) => self.check_data(data, phase.place, part)?,
            Activity::Trace(trace) => {
                let performed = trace.processes.len() <= self.client_count();
                let reason = "each of its processes is a client, and there are fewer";
                require(performed, || part("trace"), reason)?;
                let reason = "it takes place in a directory that clients share";
                require(phase.place != Place::Own, || part("trace"), reason)?;
            }
        }
        if self.protocol.cooperative {
            let reason = "clients that share their caches have leases";
            require(self.protocol.leases, || "protocol.leases".into(), reason)?;
        }
        if self.protocol.leases {
            let reason =
                "clients with leases read what is there, one common file, or files of their own";
            require(is_for_leases(phase), || part("mix"), reason)?;
        }
        check_times(phase, part)?;
        if let Place::Shared(directory) = phase.place {
            let known = directory < self.directories.len();
            require(known, || part("place"), "there is no such directory")?;
        }
        Ok(())
    }

    fn check_data(
        &self,
        data: &Data,
        place: Place,
        part: impl Fn(&str) -> String,
    ) -> Result<(), Error> {
        let workload = &data.workload;
        let checked = workload.check();
        checked.map_err(|mistake| wrong(part(mistake.of), mistake.reason))?;
        let is_common = data.is_common() && data.phase == IoPhase::Read;
        let all = workload.clients as usize == self.client_count();
        require(
            all || is_common,
            || part("clients"),
            "all clients take part",
        )?;
        let shared = workload.file == FileLayout::Shared && place == Place::Own;
        let reason = "a shared file lies in a directory that clients share";
        require(!shared, || part("file"), reason)
    }

    fn check_faults(&self) -> Result<(), Error> {
        let faults = &self.faults;
        for (name, share) in [
            ("lost", faults.lost),
            ("doubled", faults.doubled),
            ("late", faults.late),
        ] {
            let share = (0.0..=1.0).contains(&share);
            require(
                share,
                || format!("faults.{name}"),
                "it must be between 0 and 1",
            )?;
        }
        let clients = self.client_count();
        for &(client, _) in &faults.dead_clients {
            let known = (client as usize) < clients;
            require(
                known,
                || "faults.dead_clients".into(),
                "there is no such client",
            )?;
        }
        let servers = self.server_count();
        for stop in &faults.stopped_servers {
            let known = (stop.server as usize) < servers && stop.at_ns <= stop.back_ns;
            let reason = "there is no such server, or it comes back before it stops";
            require(known, || "faults.stopped_servers".into(), reason)?;
        }
        let hosts = self.hosts.len() as u32;
        let known = |cut: &super::HostPartition| cut.one < hosts && cut.other < hosts;
        let known = faults.partitions.iter().all(known);
        require(
            known,
            || "faults.partitions".into(),
            "there is no such host",
        )
    }
}
