//! A client process: does what the coordinator says.

use super::{
    Answer, Order, Target, directory::Directory, library::Library, perform::Part,
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
    for line in lines {
        let Order::Run(phase) = serde_json::from_str(&line?).context("an order")? else {
            bail!("the order to prepare comes once");
        };
        let part = Part::new(&directory, job.work, phase, client);
        answer(&match part.run(&*file_system, job.in_flight) {
            Ok(measured) => Answer::Done(measured),
            Err(error) => Answer::Failed(format!("client {client}, {}: {error:#}", phase.name())),
        })?;
    }
    Ok(())
}

/// Opens what is to be measured.
pub fn open(target: &Target) -> anyhow::Result<Box<dyn FileSystem>> {
    match target {
        Target::Cluster { file, leases } => {
            Ok(Box::new(Library::new(&Cluster::load(file)?, *leases)?))
        }
        Target::Directory(path) => Ok(Box::new(Directory(path.clone()))),
    }
}

fn answer(answer: &Answer) -> anyhow::Result<()> {
    output::write_all((serde_json::to_string(answer)? + "\n").as_bytes())
}
