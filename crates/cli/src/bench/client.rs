//! A client process: does what the coordinator says.

use super::{
    Answer, Job, Order, Target, directory::Directory, library::Library, perform::Place,
    target::FileSystem,
};
use crate::output;
use anyhow::{Context, bail};
use futago_node::Cluster;
use std::io::BufRead;

/// Runs orders from standard input until it ends.
pub fn run() -> anyhow::Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let Some(first) = lines.next() else {
        return Ok(());
    };
    let Order::Prepare {
        job,
        directory,
        client,
    } = serde_json::from_str(&first?)?
    else {
        bail!("the first order must be to prepare");
    };
    let file_system = match open(&job.target) {
        Ok(file_system) => file_system,
        Err(error) => return answer(&Answer::Failed(format!("{error:#}"))),
    };
    answer(&Answer::Ready)?;
    let place = Place {
        file_system: &*file_system,
        directory: &directory,
    };
    for line in lines {
        answer(&obey(&place, &job, client, &line?)?)?;
    }
    Ok(())
}

/// Opens what is to be measured.
pub fn open(target: &Target) -> anyhow::Result<Box<dyn FileSystem>> {
    match target {
        Target::Cluster(path) => Ok(Box::new(Library::new(&Cluster::load(path)?)?)),
        Target::Directory(path) => Ok(Box::new(Directory(path.clone()))),
    }
}

fn obey(place: &Place<'_>, job: &Job, client: u32, line: &str) -> anyhow::Result<Answer> {
    let Order::Run(phase) = serde_json::from_str(line).context("an order")? else {
        bail!("the order to prepare comes once");
    };
    let outcome = place.run(&job.work, phase, client, job.in_flight);
    Ok(outcome.map_or_else(
        |error| Answer::Failed(format!("client {client}, {}: {error:#}", phase.name())),
        Answer::Done,
    ))
}

fn answer(answer: &Answer) -> anyhow::Result<()> {
    output::write_all((serde_json::to_string(answer)? + "\n").as_bytes())
}
