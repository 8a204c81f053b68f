//! Time Warp: threads execute speculatively, and undo wrong events.
//!
//! Every thread executes the events of its partition immediately and saves the data to undo them.
//! An event that arrives late rolls its process back, and anti-messages cancel the events that the
//! process had sent. From time to time all threads compute the global virtual time (GVT). Events
//! before it are committed and removed.

mod agenda;
mod gvt;
mod history;
mod post;
mod quiet;
#[cfg(test)]
mod tests;
mod throttle;
mod time_warp;
mod worker;

pub(crate) use post::Post;
pub(crate) use time_warp::TimeWarp;

use super::carrier::carry;
use super::team::Team;
use super::{Finished, Job};
use crate::fault::Error;
use crate::placement::PartitionMap;
use crate::ranks::{Ranks, share};
use crate::{Model, Process};
use gvt::{Agreed, Gvt};
use post::Message;
use worker::Worker;

/// The shared state of the partitions of a rank.
struct Shared<'a, M: Model> {
    team: Team<'a, M, Message<<M::Process as Process>::Event>>,
    gvt: Gvt,
}

pub(super) fn run<M: Model>(
    job: &Job<'_, M>,
    ranks: &mut dyn Ranks,
) -> Result<(Option<PartitionMap>, Finished<M::Process>), Error> {
    quiet::install();
    let team = Team::new(job, ranks);
    let shared = Shared {
        gvt: Gvt::new(team.station.threads),
        team,
    };
    let (partitions, wall_s) = shared.team.run(ranks, |thread, partition, line| {
        Worker::new(&shared, thread, partition).run(line)
    });
    Ok(shared.team.finish(partitions, wall_s))
}

impl<M: Model> Shared<'_, M> {
    /// Exchanges mail with the other ranks.
    fn carry_mail(&self, ranks: &mut dyn Ranks) -> Result<(), Error> {
        carry(ranks, self.team.station, &self.team.mail, &()).map(drop)
    }

    /// Votes for the other ranks with their common result.
    fn carry_votes(&self, ranks: &mut dyn Ranks) -> Result<(), Error> {
        let others = self.team.station.threads;
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
