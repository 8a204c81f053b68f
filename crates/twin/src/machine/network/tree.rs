//! Switches and links that form a tree, chains among them.

use super::Network;
use crate::{
    machine::host::bytes_per_s,
    world::{Hop, Path, SharedLink},
};
use futago_lab::document::{Problem, bounds};
use serde::{Deserialize, Serialize};

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name, for links.
    pub name: String,
    /// The latency that it adds to a packet, in nanoseconds; the network's start-up if absent.
    #[serde(
        default,
        deserialize_with = "bounds::some_time_ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub latency_ns: Option<u64>,
    /// The rate of a back plane that all its traffic shares, in units of 10^6 bytes a second;
    /// without it, ports do not disturb each other.
    #[serde(
        default,
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub back_plane_mb_per_s: Option<f64>,
}

/// A link between two switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The switches.
    pub between: [String; 2],
    /// Its rate in each direction, in units of 10^6 bytes a second.
    #[serde(deserialize_with = "bounds::positive")]
    pub bandwidth_mb_per_s: f64,
    /// The latency that it adds to a message, in nanoseconds.
    #[serde(default, deserialize_with = "bounds::time_ns")]
    pub latency_ns: u64,
    /// Whether messages of one direction wait for each other.
    #[serde(default)]
    pub trunk: bool,
}

/// Whether names are known and once, and links form a tree.
pub(super) fn check(network: &Network) -> Result<(), Problem> {
    for (number, switch) in network.switches.iter().enumerate() {
        if network.switches[..number]
            .iter()
            .any(|s| s.name == switch.name)
        {
            let problem = Problem::new(format!("there is another switch `{}`", switch.name));
            return Err(below(problem, &["switches", &number.to_string(), "name"]));
        }
    }
    for (key, names) in [("clients", &network.clients), ("servers", &network.servers)] {
        check_attachment(network, key, names)?;
    }
    let mut groups: Vec<usize> = (0..network.switches.len()).collect();
    for (number, link) in network.links.iter().enumerate() {
        join(network, number, link, &mut groups)?;
    }
    if let Some(apart) = groups.iter().position(|group| *group != groups[0]) {
        let name = &network.switches[apart].name;
        let problem = Problem::new(format!(
            "no link leads to switch `{name}` from the first one"
        ));
        return Err(below(problem, &["switches", &apart.to_string()]));
    }
    Ok(())
}

fn check_attachment(network: &Network, key: &str, names: &[String]) -> Result<(), Problem> {
    for (number, name) in names.iter().enumerate() {
        find(network, name).map_err(|problem| below(problem, &[key, &number.to_string()]))?;
    }
    if names.is_empty() && !network.switches.is_empty() {
        let problem = Problem::new(format!("say which switches {key} are attached to"));
        return Err(problem.inside(key));
    }
    Ok(())
}

/// A mistake below these keys.
fn below(problem: Problem, keys: &[&str]) -> Problem {
    keys.iter()
        .rev()
        .fold(problem, |problem, key| problem.inside(*key))
}

fn find(network: &Network, name: &str) -> Result<usize, Problem> {
    let names: Vec<&str> = network.switches.iter().map(|s| s.name.as_str()).collect();
    let found = names.iter().position(|known| *known == name);
    found.ok_or_else(|| Problem::unknown("switch", name, &names))
}

/// Joins the groups of switches that a link connects; it must not connect a group with itself.
fn join(
    network: &Network,
    number: usize,
    link: &Link,
    groups: &mut [usize],
) -> Result<(), Problem> {
    let mut ends = [0; 2];
    for (side, name) in link.between.iter().enumerate() {
        let found = find(network, name);
        let keys = ["links", &number.to_string(), "between", &side.to_string()];
        ends[side] = found.map_err(|problem| below(problem, &keys))?;
    }
    let (target, absorbed) = (groups[ends[0]], groups[ends[1]]);
    if target == absorbed {
        let [one, other] = &link.between;
        let problem = Problem::new(format!(
            "the link closes a cycle: there is already a way from `{one}` to `{other}`"
        ));
        let problem = problem.suggest("leave one link of the cycle out, or use a fat tree");
        return Err(below(problem, &["links", &number.to_string()]));
    }
    for group in groups {
        if *group == absorbed {
            *group = target;
        }
    }
    Ok(())
}

/// The switches and links of a network that has been checked.
pub(super) struct Graph {
    names: Vec<String>,
    switches: Vec<Hop>,
    /// From each switch: the link, its rate, and the switch at its other end.
    links: Vec<Vec<(Hop, u64, u32)>>,
    /// Links that messages of several hosts share.
    pub shared_links: Vec<SharedLink>,
}

impl Graph {
    pub fn new(network: &Network) -> Self {
        let names = network.switches.iter().map(|switch| switch.name.clone());
        let mut graph = Self {
            names: names.collect(),
            switches: Vec::new(),
            links: vec![Vec::new(); network.switches.len()],
            shared_links: Vec::new(),
        };
        for switch in &network.switches {
            let back_plane = switch.back_plane_mb_per_s;
            let hop = Hop {
                latency_ns: switch.latency_ns.unwrap_or(network.startup_ns),
                shared_link: back_plane
                    .map(|rate| graph.share(switch.name.clone(), bytes_per_s(rate))),
            };
            graph.switches.push(hop);
        }
        for link in &network.links {
            let [one, other] = &link.between;
            graph.add(link, one, other);
            graph.add(link, other, one);
        }
        graph
    }

    fn share(&mut self, name: String, bytes_per_s: u64) -> u32 {
        self.shared_links.push(SharedLink { name, bytes_per_s });
        self.shared_links.len() as u32 - 1
    }

    /// Adds one direction of a link.
    fn add(&mut self, link: &Link, from: &str, to: &str) {
        let (Some(start), Some(end)) = (self.find(from), self.find(to)) else {
            return;
        };
        let rate = bytes_per_s(link.bandwidth_mb_per_s);
        let shared_link = link
            .trunk
            .then(|| self.share(format!("{from} to {to}"), rate));
        let hop = Hop {
            shared_link,
            latency_ns: link.latency_ns,
        };
        self.links[start as usize].push((hop, rate, end));
    }

    /// The number of a switch.
    pub fn find(&self, name: &str) -> Option<u32> {
        let found = self.names.iter().position(|known| known == name);
        found.map(|number| number as u32)
    }

    /// The one way from a switch to another, both included.
    pub fn path(&self, from: u32, to: u32) -> Path {
        let mut path = Path::default();
        self.search(from, to, None, &mut path);
        path
    }

    fn search(&self, at: u32, to: u32, came_from: Option<u32>, path: &mut Path) -> bool {
        path.hops.push(self.switches[at as usize]);
        if at == to {
            return true;
        }
        for (link, rate, next) in &self.links[at as usize] {
            if Some(*next) == came_from {
                continue;
            }
            path.hops.push(*link);
            if self.search(*next, to, Some(at), path) {
                path.bytes_per_s =
                    Some(path.bytes_per_s.map_or(*rate, |slowest| slowest.min(*rate)));
                return true;
            }
            path.hops.pop();
        }
        path.hops.pop();
        false
    }
}
