//! Time Warp: threads run ahead, and take back what turns out to be wrong.
//!
//! Every thread executes the events of its partition as they come and keeps what it takes to undo
//! them. An event that arrives late rolls its process back, and anti-messages call back what the
//! process had sent. Now and then all threads compute the global virtual time (GVT); what is
//! before it is committed and forgotten.

mod agenda;
mod gvt;
mod history;
mod post;
mod quiet;
mod throttle;
mod time_warp;
mod worker;

use std::time::Instant;

pub(crate) use post::Post;
pub(crate) use time_warp::TimeWarp;

use super::carrier::{Station, carry};
use super::failure::Failure;
use super::{Finished, Job, seconds_since};
use crate::fault::Error;
use crate::partition::Partition;
use crate::placement::Seating;
use crate::ranks::{Ranks, share};
use crate::sync::{Barrier, MailGrid};
use crate::{Model, Process};
use gvt::{Agreed, Gvt};
use post::Message;
use worker::Worker;

/// What the partitions of a rank share.
struct Shared<'a, M: Model> {
    job: &'a Job<'a, M>,
    seating: &'a Seating,
    station: Station,
    barrier: Barrier,
    mail: MailGrid<Message<<M::Process as Process>::Event>>,
    gvt: Gvt,
    failure: Failure,
}

pub(super) fn run<M: Model>(
    job: &Job<'_, M>,
    ranks: &mut dyn Ranks,
) -> Result<(Option<Seating>, Finished<M::Process>), Error> {
    quiet::install();
    let station = Station::new(ranks, job.settings.threads);
    let seating = job.seating(station.partitions() as u32);
    let shared = Shared {
        job,
        seating: &seating,
        station,
        barrier: Barrier::new(station.threads),
        mail: MailGrid::new(station.threads, station.partitions()),
        gvt: Gvt::new(station.threads),
        failure: Failure::default(),
    };
    let (partitions, wall_s) = run_threads(&shared, ranks);
    let error = shared.failure.into_error(job.model);
    Ok((
        Some(seating),
        Finished {
            partitions,
            wall_s,
            error,
        },
    ))
}

fn run_threads<M: Model>(
    shared: &Shared<'_, M>,
    ranks: &mut dyn Ranks,
) -> (Vec<Partition<M::Process>>, f64) {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..shared.station.threads)
            .map(|thread| scope.spawn(move || run_worker(shared, thread, None).0))
            .collect();
        let (leader, wall_s) = run_worker(shared, 0, Some(ranks));
        let mut partitions = vec![leader];
        // Workers catch the panics of models, so a thread that is gone is a defect of the engine.
        partitions.extend(others.into_iter().map(|worker| match worker.join() {
            Ok(partition) => partition,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        (partitions, wall_s)
    })
}

fn run_worker<M: Model>(
    shared: &Shared<'_, M>,
    thread: usize,
    ranks: Option<&mut dyn Ranks>,
) -> (Partition<M::Process>, f64) {
    let me = shared.station.partition(thread);
    let partition = shared.job.partition(shared.seating.members(me as u32));
    shared.barrier.wait();
    let start = Instant::now();
    let partition = Worker::new(shared, thread, partition).run(ranks);
    (partition, seconds_since(start))
}

impl<M: Model> Shared<'_, M> {
    /// Takes mail to the other ranks, and theirs here.
    fn carry_mail(&self, ranks: &mut dyn Ranks) -> Result<(), Error> {
        carry(ranks, self.station, &self.mail, &()).map(drop)
    }

    /// Votes for the other ranks what they have agreed on among themselves.
    fn carry_votes(&self, ranks: &mut dyn Ranks) -> Result<(), Error> {
        let others = self.station.threads;
        self.gvt.vote(others, crate::EventKey::MAX, false);
        let Agreed { gvt, failed } = self.gvt.result();
        for (gvt, failed) in share(ranks, &(gvt, failed))? {
            let known = self.gvt.result();
            self.gvt
                .vote(others, gvt.min(known.gvt), failed || known.failed);
        }
        Ok(())
    }
}
