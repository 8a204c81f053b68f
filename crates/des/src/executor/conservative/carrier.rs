use serde::{Deserialize, Serialize};

use super::Shared;
use super::promises::Promises;
use crate::event::Event;
use crate::fault::Error;
use crate::ranks::{Ranks, decode, encode};
use crate::{Model, Process};

/// Carries promises and mail between ranks; in the hands of each rank's first thread.
pub(super) struct Carrier<'a> {
    ranks: &'a mut dyn Ranks,
}

/// What precedes a rank's mail in each exchange.
#[derive(Serialize, Deserialize)]
struct Cover {
    promises: Vec<Vec<u64>>,
    given_up: bool,
    events: u32,
}

type EventOf<M> = Event<<<M as Model>::Process as Process>::Event>;

impl<'a> Carrier<'a> {
    pub fn new(ranks: &'a mut dyn Ranks) -> Self {
        Carrier { ranks }
    }

    /// Exchanges this rank's promises and mail for those of the others.
    pub fn carry<M: Model>(
        &mut self,
        shared: &Shared<'_, M>,
        promises: &Promises,
    ) -> Result<(), Error> {
        let me = self.ranks.rank() as usize;
        let mut outgoing = Vec::new();
        for rank in 0..self.ranks.count() as usize {
            let bytes = if rank == me {
                Vec::new()
            } else {
                pack(shared, promises, rank)?
            };
            outgoing.push(bytes);
        }
        let incoming = self.ranks.exchange(outgoing)?;
        for (rank, bytes) in incoming.iter().enumerate().filter(|(rank, _)| *rank != me) {
            unpack(shared, promises, rank, bytes)?;
        }
        Ok(())
    }
}

fn pack<M: Model>(
    shared: &Shared<'_, M>,
    promises: &Promises,
    rank: usize,
) -> Result<Vec<u8>, Error> {
    let mut mail: Vec<(u32, EventOf<M>)> = Vec::new();
    let mut batch = Vec::new();
    for from in 0..shared.threads {
        for thread in 0..shared.threads {
            shared
                .mail
                .take(from, rank * shared.threads + thread, &mut batch);
            mail.extend(batch.drain(..).map(|event| (thread as u32, event)));
        }
    }
    let own = shared.first..shared.first + shared.threads;
    let cover = Cover {
        promises: own.map(|partition| promises.row(partition)).collect(),
        given_up: promises.given_up(),
        events: mail.len() as u32,
    };
    let bytes = encode(&cover, Vec::new())?;
    mail.iter()
        .try_fold(bytes, |bytes, addressed| encode(addressed, bytes))
}

fn unpack<M: Model>(
    shared: &Shared<'_, M>,
    promises: &Promises,
    rank: usize,
    bytes: &[u8],
) -> Result<(), Error> {
    let (cover, mut rest): (Cover, _) = decode(bytes)?;
    for (thread, words) in cover.promises.iter().enumerate() {
        promises.set_row(rank * shared.threads + thread, words);
    }
    if cover.given_up {
        promises.give_up();
    }
    let mut bags: Vec<Vec<EventOf<M>>> = (0..shared.threads).map(|_| Vec::new()).collect();
    for _ in 0..cover.events {
        let ((thread, event), tail): ((u32, EventOf<M>), _) = decode(rest)?;
        rest = tail;
        let misaddressed = || Error::Ranks(format!("rank {rank} has no partition {thread}"));
        bags.get_mut(thread as usize)
            .ok_or_else(misaddressed)?
            .push(event);
    }
    for (thread, mut bag) in bags.into_iter().enumerate() {
        shared.mail.send(0, shared.first + thread, &mut bag);
    }
    Ok(())
}
