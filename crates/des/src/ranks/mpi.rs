use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use mpi::{Count, Threading};

use super::Ranks;
use crate::fault::Error;

/// The processes that `mpirun` has started.
pub struct MpiRanks {
    world: SimpleCommunicator,
    /// Finalizes MPI when it is dropped, so it comes last.
    _universe: Universe,
}

impl MpiRanks {
    /// Initializes MPI. Only the calling thread may use the result.
    ///
    /// # Errors
    ///
    /// If this process has initialized MPI before, or MPI does not support threads.
    pub fn start() -> Result<MpiRanks, Error> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Error::Ranks("MPI is already initialized".into()))?;
        if threading < Threading::Funneled {
            return Err(Error::Ranks("this MPI does not allow threads".into()));
        }
        Ok(MpiRanks {
            world: universe.world(),
            _universe: universe,
        })
    }
}

impl Ranks for MpiRanks {
    fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    fn count(&self) -> u32 {
        self.world.size() as u32
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        let send_counts = counts(&outgoing)?;
        let mut receive_counts: Vec<Count> = vec![0; send_counts.len()];
        self.world
            .all_to_all_into(&send_counts[..], &mut receive_counts[..]);
        let (send_offsets, _) = offsets(&send_counts)?;
        let (receive_offsets, received) = offsets(&receive_counts)?;
        let send_bytes = outgoing.concat();
        let mut receive_bytes = vec![0u8; received];
        let send = Partition::new(&send_bytes[..], send_counts, &send_offsets[..]);
        let mut receive = PartitionMut::new(
            &mut receive_bytes[..],
            &receive_counts[..],
            &receive_offsets[..],
        );
        self.world.all_to_all_varcount_into(&send, &mut receive);
        let mut rest = &receive_bytes[..];
        let take = |&count: &Count| {
            let (bytes, tail) = rest.split_at(count as usize);
            rest = tail;
            bytes.to_vec()
        };
        Ok(receive_counts.iter().map(take).collect())
    }
}

fn counts(batches: &[Vec<u8>]) -> Result<Vec<Count>, Error> {
    batches
        .iter()
        .map(|bytes| Count::try_from(bytes.len()).map_err(|_| too_much()))
        .collect()
}

/// The start of each batch, and the total length.
fn offsets(counts: &[Count]) -> Result<(Vec<Count>, usize), Error> {
    let mut next: Count = 0;
    let mut starts = Vec::new();
    for count in counts {
        starts.push(next);
        next = next.checked_add(*count).ok_or_else(too_much)?;
    }
    Ok((starts, next as usize))
}

fn too_much() -> Error {
    Error::Ranks("more than 2 GiB in one exchange".into())
}
