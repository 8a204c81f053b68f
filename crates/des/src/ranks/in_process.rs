use std::sync::mpsc::{Receiver, Sender, channel};

use super::Ranks;
use crate::fault::Error;

/// A rank that is a thread of this process, for tests of models and of the engine without MPI.
#[derive(Debug)]
pub struct InProcess {
    rank: u32,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// `count` connected ranks. Each belongs on a thread of its own.
pub fn in_process(count: u32) -> Vec<InProcess> {
    let mut ranks: Vec<InProcess> = (0..count)
        .map(|rank| InProcess {
            rank,
            to: Vec::new(),
            from: Vec::new(),
        })
        .collect();
    for receiver in 0..count as usize {
        for sender in 0..count as usize {
            let (to, from) = channel();
            ranks[sender].to.push(to);
            ranks[receiver].from.push(from);
        }
    }
    ranks
}

impl Ranks for InProcess {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn count(&self) -> u32 {
        self.to.len() as u32
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        let gone = |rank: usize| Error::Ranks(format!("rank {rank} is gone"));
        for (rank, (to, bytes)) in self.to.iter().zip(outgoing).enumerate() {
            to.send(bytes).map_err(|_| gone(rank))?;
        }
        let receive =
            |(rank, from): (usize, &Receiver<Vec<u8>>)| from.recv().map_err(|_| gone(rank));
        self.from.iter().enumerate().map(receive).collect()
    }
}
