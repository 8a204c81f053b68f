//! The costs of work.

use crate::world::Latency;
use futago_lab::document::{Problem, bounds};
use futago_wire::Request;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::collections::BTreeMap;
use strum::VariantNames;

/// CPU time of primitives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// The costs of a server.
    pub server: ServerCosts,
    /// The costs of a client.
    pub client: ClientCosts,
    /// From a message's arrival at a process that sleeps until it runs.
    #[serde(deserialize_with = "bounds::time_ns")]
    pub wake_up_ns: u64,
    /// How processes look for messages before they sleep; without it they sleep whenever they wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looking: Option<Looking>,
}

/// The costs of polling. A process that waits occupies a core in its slice; after a poll that finds
/// nothing the next process of the core runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looking {
    /// A look in vain, and the change to the next process of the core.
    #[serde(deserialize_with = "bounds::time_ns")]
    pub pass_ns: u64,
    /// For who has slept to be woken: of both ends.
    #[serde(default, deserialize_with = "bounds::cost_ns")]
    pub woken_ns: f64,
    /// The costs after a period of idleness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_idle: Option<AfterIdle>,
    /// By what part messages and requests cost more for each other process on the core when a slice
    /// begins, because these leave their own code and data in the caches.
    #[serde(default, deserialize_with = "bounds::growth")]
    pub after_other: f64,
}

/// By how much work costs more for a process that has been idle, because other processes have used
/// the caches: those of this host, and of other hosts that share them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterIdle {
    /// After so long it costs as usual.
    #[serde(deserialize_with = "bounds::time_ns")]
    pub from_ns: u64,
    /// The time, longer than the former, from which it costs [`Self::more`] more; between both, the
    /// cost grows with the logarithm of the time.
    #[serde(deserialize_with = "bounds::time_ns")]
    pub until_ns: u64,
    /// A part of what messages and requests cost, whatever data and listings they bring.
    #[serde(deserialize_with = "bounds::growth")]
    pub more: f64,
}

impl AfterIdle {
    /// By how much work is dearer after so long.
    pub(in crate::world) fn more(self, idle_ns: u64) -> f64 {
        self.more * share_of_logarithm([self.from_ns, self.until_ns], idle_ns)
    }
}

/// The costs of a handled message at a server, by the work that its core reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerCosts {
    /// For all messages together that it finds of one sender when it looks.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub batch_ns: f64,
    /// For each message that it handles.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub input_ns: f64,
    /// The same for requests of one name, such as `create`, in the place of `input_ns`.
    #[serde(deserialize_with = "requests_ns")]
    pub request_ns: BTreeMap<String, f64>,
    /// For each message that it sends.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub output_ns: f64,
    /// For each record that it looks up.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub record_read_ns: f64,
    /// For each record that it passes in a range.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub record_scanned_ns: f64,
    /// The cost where the servers of a host hold more files than its caches do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_files: Option<ManyFiles>,
    /// For each record that it puts or deletes.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub record_written_ns: f64,
    /// For each byte of file data that it reads or writes.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_ns: f64,
    /// For each byte of file data that comes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_received_ns: f64,
    /// How many times as much it costs if the whole message is there when it is found, because no
    /// other core puts it in meanwhile.
    #[serde(
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub found_whole: Option<f64>,
    /// For each byte of file data that goes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_sent_ns: f64,
    /// Both costs where the servers of this host hold more data than its caches do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub much_data: Option<MuchData>,
    /// Besides, for messages from and to other hosts: they go through sockets.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub sockets: MessageCosts,
}

/// How a record becomes dearer the more files the servers of a host hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyFiles {
    /// Up to so many files it costs as usual.
    pub from: u64,
    /// The number, larger than the former, from which it costs [`Self::record_scanned_ns`]; between
    /// both, the cost grows with their number.
    pub until: u64,
    /// For each record that is passed in a range.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub record_scanned_ns: f64,
}

/// How a byte of file data becomes dearer the more the servers of a host hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuchData {
    /// Up to so much it costs as usual, in MiB.
    #[serde(deserialize_with = "bounds::mib")]
    pub from_mib: u64,
    /// The amount in MiB, larger than the former, from which these costs apply; between both, the
    /// cost grows with the logarithm of the amount.
    #[serde(deserialize_with = "bounds::mib")]
    pub until_mib: u64,
    /// For each byte of file data that comes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_received_ns: f64,
    /// For each byte of file data that goes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_sent_ns: f64,
}

/// The data that the servers of a host hold together, which fits its caches or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::world) struct Held {
    pub files: u64,
    /// With data and records.
    pub bytes: u64,
}

impl Costs {
    /// Whether anything costs more where more is held.
    pub(in crate::world) const fn depend_on_held(&self) -> bool {
        self.server.many_files.is_some()
            || self.server.much_data.is_some()
            || self.client.much_data.is_some()
    }
}

impl ServerCosts {
    /// The cost of each scanned record, where the host's servers hold `files` files.
    pub(in crate::world) fn scanned_ns(&self, files: u64) -> f64 {
        let Some(many) = self.many_files else {
            return self.record_scanned_ns;
        };
        let share = share([many.from, many.until], files);
        self.record_scanned_ns + share * (many.record_scanned_ns - self.record_scanned_ns)
    }
}

/// How far something has come from the first of two to the second, between 0 and 1.
pub(crate) fn share(range: [u64; 2], at: u64) -> f64 {
    let [from, until, at] = [range[0], range[1], at].map(|figure| figure as f64);
    ((at - from) / (until - from)).clamp(0.0, 1.0)
}

/// How far a logarithm has come from the first of two to the second, between 0 and 1.
fn share_of_logarithm(range: [u64; 2], at: u64) -> f64 {
    let [from, until, at] = [range[0], range[1], at].map(|figure| figure.max(1) as f64);
    ((at / from).ln() / (until / from).ln()).clamp(0.0, 1.0)
}

/// The costs of messages for a process, independent of their content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MessageCosts {
    /// For all messages together that are found of one sender.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub batch_ns: f64,
    /// For each byte of file data that comes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_received_ns: f64,
    /// For each byte of file data that goes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_sent_ns: f64,
}

impl MessageCosts {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// These, with what sockets cost besides if the other end is on another host.
    fn over(self, sockets: Self, is_remote: bool) -> Self {
        match is_remote {
            true => self.plus(sockets),
            false => self,
        }
    }

    /// These, where the servers of this host hold so many bytes.
    fn among(self, much: Option<MuchData>, held_bytes: u64) -> Self {
        let Some(much) = much else {
            return self;
        };
        let range = [much.from_mib, much.until_mib].map(|mib| mib << 20);
        let share = share_of_logarithm(range, held_bytes);
        let between = |usual_ns: f64, much_ns: f64| usual_ns + share * (much_ns - usual_ns);
        Self {
            batch_ns: self.batch_ns,
            byte_received_ns: between(self.byte_received_ns, much.byte_received_ns),
            byte_sent_ns: between(self.byte_sent_ns, much.byte_sent_ns),
        }
    }

    /// These, where each byte costs so many times as much.
    pub(in crate::world) fn with_bytes(self, times: f64) -> Self {
        Self {
            batch_ns: self.batch_ns,
            byte_received_ns: self.byte_received_ns * times,
            byte_sent_ns: self.byte_sent_ns * times,
        }
    }

    fn plus(self, more: Self) -> Self {
        Self {
            batch_ns: self.batch_ns + more.batch_ns,
            byte_received_ns: self.byte_received_ns + more.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns + more.byte_sent_ns,
        }
    }
}

impl ServerCosts {
    /// The costs of messages whose other end may be on another host, where the servers of this one
    /// hold `held_bytes`.
    pub(in crate::world) fn messages(&self, is_remote: bool, held_bytes: u64) -> MessageCosts {
        let plain = MessageCosts {
            batch_ns: self.batch_ns,
            byte_received_ns: self.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns,
        };
        let plain = plain.among(self.much_data, held_bytes);
        plain.over(self.sockets, is_remote)
    }
}

impl ClientCosts {
    /// The costs of messages whose other end may be on another host, where the servers of this one
    /// hold `held_bytes`.
    pub(in crate::world) fn messages(&self, is_remote: bool, held_bytes: u64) -> MessageCosts {
        let plain = MessageCosts {
            batch_ns: self.batch_ns,
            byte_received_ns: self.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns,
        };
        let plain = plain.among(self.much_data, held_bytes);
        plain.over(self.sockets, is_remote)
    }
}

/// The costs of a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientCosts {
    /// For each operation, when it begins.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub operation_ns: f64,
    /// For all messages together that it finds of one sender when it looks.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub batch_ns: f64,
    /// For each request that it sends, by its name, such as `create`: to make it, and to receive
    /// its reply.
    #[serde(deserialize_with = "requests_ns")]
    pub request_ns: BTreeMap<String, f64>,
    /// The same for requests of any other name.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub other_request_ns: f64,
    /// For each message that it receives.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub input_ns: f64,
    /// For each name of a listing that it receives.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub listed_name_ns: f64,
    /// For each byte of file data that comes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_received_ns: f64,
    /// How many times as much it costs if the whole message is there when it is found, because no
    /// other core puts it in meanwhile.
    #[serde(
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub found_whole: Option<f64>,
    /// For each byte of file data that goes with a message.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_sent_ns: f64,
    /// Both costs where the servers of this host hold more data than its caches do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub much_data: Option<MuchData>,
    /// Besides, for messages from and to other hosts: they go through sockets.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub sockets: MessageCosts,
}

/// The costs of requests, by their names. An unknown name is an error.
fn requests_ns<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let costs = BTreeMap::<RequestName, Cost>::deserialize(from)?;
    let costs = costs.into_iter();
    Ok(costs
        .map(|(RequestName(name), Cost(ns))| (name, ns))
        .collect())
}

#[derive(Deserialize)]
struct Cost(#[serde(deserialize_with = "bounds::cost_ns")] f64);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RequestName(String);

impl<'de> Deserialize<'de> for RequestName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if Request::VARIANTS.contains(&name.as_str()) {
            return Ok(Self(name));
        }
        let problem = Problem::unknown("request", &name, Request::VARIANTS);
        Err(D::Error::custom(problem))
    }
}

/// How long a change takes from the end of its handler until its answers may leave. It occupies
/// neither server nor core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The time of one batch.
    pub latency: Latency,
    /// Besides, for each byte of file data in it.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_ns: f64,
    /// How many batches a server's store takes at once; `None` for any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_dearer_with_the_logarithm_of_what_is_held() {
        let much_data = Some(MuchData {
            from_mib: 32,
            until_mib: 128,
            byte_received_ns: 0.3,
            byte_sent_ns: 0.1,
        });
        let costs = ClientCosts {
            batch_ns: 500.0,
            byte_received_ns: 0.1,
            byte_sent_ns: 0.1,
            much_data,
            ..ClientCosts::default()
        };
        for (mib, ns) in [(0, 0.1), (32, 0.1), (64, 0.2), (128, 0.3), (1 << 40, 0.3)] {
            let messages = costs.messages(false, mib << 20);
            assert!((messages.byte_received_ns - ns).abs() < 1e-9, "{mib} MiB");
            assert_eq!([messages.batch_ns, messages.byte_sent_ns], [500.0, 0.1]);
        }
    }

    #[test]
    fn records_become_dearer_with_the_number_of_files() {
        let usual = ServerCosts {
            record_scanned_ns: 400.0,
            ..ServerCosts::default()
        };
        assert_eq!(usual.scanned_ns(1 << 30), 400.0);
        let many_files = Some(ManyFiles {
            from: 4_000,
            until: 16_000,
            record_scanned_ns: 1_000.0,
        });
        let costs = ServerCosts {
            many_files,
            ..usual
        };
        for (files, ns) in [
            (0, 400.0),
            (4_000, 400.0),
            (7_000, 550.0),
            (10_000, 700.0),
            (16_000, 1_000.0),
            (1 << 30, 1_000.0),
        ] {
            assert!((costs.scanned_ns(files) - ns).abs() < 1e-9, "{files} files");
        }
    }
}
