//! A client process: does what the coordinator says.

use super::{
    Answer, Order, Target,
    c_library::CLibrary,
    directory::Directory,
    io500::{Ranks, Written},
    library::Library,
    perform::Part,
    target::FileSystem,
};
use crate::output;
use anyhow::{Context, bail};
use futago_node::Cluster;
use std::{
    io::{BufRead, BufReader, Lines, Stdin},
    sync::{Mutex, PoisonError},
};

/// Runs orders from standard input until it ends.
pub fn run() -> anyhow::Result<()> {
    let orders = Orders(Mutex::new(BufReader::new(std::io::stdin()).lines()));
    let Some(first) = orders.next()? else {
        return Ok(());
    };
    let Order::Prepare {
        job,
        directory,
        client,
    } = first
    else {
        bail!("the first order must be to prepare");
    };
    let file_system = match open(&job.target) {
        Ok(file_system) => file_system,
        Err(error) => return answer(&Answer::Failed(format!("{error:#}"))),
    };
    answer(&Answer::Ready)?;
    let (written, meet) = (Mutex::new(Written::default()), |done| orders.meet(done));
    let ranks = Ranks {
        meet: &meet,
        written: &written,
    };
    while let Some(order) = orders.next()? {
        let Order::Run(phase) = order else {
            bail!("an order out of turn: {order:?}");
        };
        let part = Part::new(&directory, job.work, phase, client, &ranks);
        answer(&match part.run(&*file_system, job.in_flight) {
            Ok(measured) => Answer::Done(measured),
            Err(error) => Answer::Failed(format!("client {client}, {}: {error:#}", phase.name())),
        })?;
    }
    Ok(())
}

/// The orders of the coordinator.
struct Orders(Mutex<Lines<BufReader<Stdin>>>);

impl Orders {
    /// The next order; none at the end.
    fn next(&self) -> anyhow::Result<Option<Order>> {
        let lines = self.0.lock();
        let Some(line) = lines.unwrap_or_else(PoisonError::into_inner).next() else {
            return Ok(None);
        };
        serde_json::from_str(&line?).context("an order")
    }

    /// Reports the stonewall, and returns how many operations every client shall do.
    fn meet(&self, done: u64) -> anyhow::Result<u64> {
        answer(&Answer::Reached(done))?;
        match self.next()? {
            Some(Order::Continue(most)) => Ok(most),
            other => bail!("at the stonewall, another order: {other:?}"),
        }
    }
}

/// Opens what is to be measured.
pub fn open(target: &Target) -> anyhow::Result<Box<dyn FileSystem>> {
    match target {
        Target::Cluster {
            file,
            leases,
            window_bytes,
        } => {
            let cluster = Cluster::load(file)?;
            Ok(Box::new(Library::new(&cluster, *leases, *window_bytes)?))
        }
        Target::CLibrary { library, cluster } => Ok(Box::new(CLibrary::open(library, cluster)?)),
        Target::Directory(path) => Ok(Box::new(Directory(path.clone()))),
    }
}

fn answer(answer: &Answer) -> anyhow::Result<()> {
    output::write_all((serde_json::to_string(answer)? + "\n").as_bytes())
}
