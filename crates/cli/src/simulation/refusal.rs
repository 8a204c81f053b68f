//! Parts of scenarios that only simulated clusters can run, not a real one on this host.

use super::mistake;
use futago_lab::document::Problem;
use futago_twin::{
    scenario::{Body, ProtocolSettings},
    world::{Faults, Setup},
};

/// Refuses a scenario that a real cluster on this host cannot run, with the reason.
pub fn check(body: &Body, setup: &Setup) -> anyhow::Result<()> {
    let checked = check_surroundings(body).and_then(|()| check_directories(body, setup));
    checked.map_err(mistake)
}

fn check_surroundings(body: &Body) -> Result<(), Problem> {
    let refuse = |key: &str, reason: &str| {
        let problem = Problem::new(format!("a real cluster cannot be given this: {reason}"));
        Err(key.rsplit('.').fold(problem, Problem::inside))
    };
    let keep_alive = body.cluster.protocol.keep_alive;
    let as_they_are = ProtocolSettings {
        keep_alive,
        ..ProtocolSettings::default()
    };
    if body.faults != Faults::default() {
        return refuse("faults", "its messages and processes go their own way");
    }
    if body.cluster.protocol != as_they_are {
        return refuse("cluster.protocol", "its servers work by their own settings");
    }
    Ok(())
}

/// Buckets split for as long as there is a server that has none.
fn check_directories(body: &Body, setup: &Setup) -> Result<(), Problem> {
    let servers = u64::from(body.cluster.servers);
    let check = |buckets: u64| match buckets <= servers {
        true => Ok(()),
        false => {
            let text = format!(
                "on a real cluster a directory grows to one bucket on each server, and there are {servers}"
            );
            let most = 1_u64 << servers.ilog2();
            let problem = Problem::new(text).suggest(format!("say `buckets = {most}` or less"));
            Err(problem.inside("buckets"))
        }
    };
    for (number, directory) in setup.directories.iter().enumerate() {
        let checked =
            check(directory.buckets).map_err(|problem| problem.inside(number.to_string()));
        checked.map_err(|problem| problem.inside("directories").inside("workload"))?;
    }
    let wide = if setup.wide.each > 0 {
        setup.wide.buckets
    } else {
        1
    };
    check(wide).map_err(|problem| problem.inside("wide").inside("workload"))
}
