//! Mail between ranks.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fault::Error;
use crate::ranks::{Ranks, decode, encode};
use crate::sync::MailGrid;

/// The position of the partitions of this rank among all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    pub rank: usize,
    /// Partitions per rank.
    pub threads: usize,
    pub ranks: usize,
}

impl Station {
    pub fn new(ranks: &dyn Ranks, threads: u32) -> Station {
        Station {
            rank: ranks.rank() as usize,
            threads: threads as usize,
            ranks: ranks.count() as usize,
        }
    }

    /// The number of partitions of all ranks.
    pub fn partitions(&self) -> usize {
        self.threads * self.ranks
    }

    /// The number, among all partitions, of the partition of `thread` on this rank.
    pub fn partition(&self, thread: usize) -> usize {
        self.rank * self.threads + thread
    }

    pub fn is_alone(&self) -> bool {
        self.ranks == 1
    }
}

/// The header of the mail of a rank in each exchange.
#[derive(Serialize, Deserialize)]
struct Cover<C> {
    note: C,
    mail: u32,
}

/// Exchanges all mail between ranks, and a note from each. Returns the notes by rank.
pub(super) fn carry<T, C>(
    ranks: &mut dyn Ranks,
    station: Station,
    mail: &MailGrid<T>,
    note: &C,
) -> Result<Vec<C>, Error>
where
    T: Serialize + DeserializeOwned,
    C: Serialize + DeserializeOwned,
{
    let outgoing = (0..station.ranks)
        .map(|rank| {
            let addressed = if rank == station.rank {
                Vec::new()
            } else {
                take(station, mail, rank)
            };
            let cover = encode(
                &Cover {
                    note,
                    mail: addressed.len() as u32,
                },
                Vec::new(),
            )?;
            addressed
                .iter()
                .try_fold(cover, |bytes, item| encode(item, bytes))
        })
        .collect::<Result<_, Error>>()?;
    let incoming = ranks.exchange(outgoing)?;
    incoming
        .iter()
        .map(|bytes| deliver(station, mail, bytes))
        .collect()
}

/// All mail for a rank, each piece with the number of its thread.
fn take<T>(station: Station, mail: &MailGrid<T>, rank: usize) -> Vec<(u32, T)> {
    let mut addressed = Vec::new();
    let mut batch = Vec::new();
    for from in 0..station.threads {
        for thread in 0..station.threads {
            mail.take(from, rank * station.threads + thread, &mut batch);
            addressed.extend(batch.drain(..).map(|item| (thread as u32, item)));
        }
    }
    addressed
}

/// Puts the mail of another rank into the boxes of the first thread of this one. Mail from one
/// partition stays in order, because it always takes this path.
fn deliver<T, C>(station: Station, mail: &MailGrid<T>, bytes: &[u8]) -> Result<C, Error>
where
    T: DeserializeOwned,
    C: DeserializeOwned,
{
    let (cover, mut rest): (Cover<C>, _) = decode(bytes)?;
    let mut bags: Vec<Vec<T>> = (0..station.threads).map(|_| Vec::new()).collect();
    for _ in 0..cover.mail {
        let ((thread, item), tail): ((u32, T), _) = decode(rest)?;
        rest = tail;
        let misaddressed = || Error::Ranks(format!("mail for thread {thread}, which is not here"));
        bags.get_mut(thread as usize)
            .ok_or_else(misaddressed)?
            .push(item);
    }
    for (thread, mut bag) in bags.into_iter().enumerate() {
        mail.send(0, station.partition(thread), &mut bag);
    }
    Ok(cover.note)
}
