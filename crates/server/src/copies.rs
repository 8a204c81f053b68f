//! Chooses the client that a reader asks for a piece of a file.
//!
//! Sasaki et al. (cooperative caching on Gfarm) order the holders by the pieces that they were
//! asked for less those that they have served. Clients that begin to read one file at once come in
//! the same order for each piece, so that order makes a chain of them. A chain is the fastest way
//! through equal links, because each client sends as much as it receives: in every other tree some
//! client sends twice as much, and all below it wait. But a piece passes through all clients of a
//! chain one by one, and one that fails delays all behind it. So chains are bounded here. Beyond
//! that length the shallowest holder gets a second reader, with whom another chain begins.

use alloc::vec::Vec;
use futago_base::{Duration, FileId, Key, SessionId, Time, record::CopyHolder};

/// The number of slots of a file: the holders of 16 GiB of its data are known.
const SLOTS: u64 = 1 << 14;
/// The most readers that are sent to a holder of a piece within [`READING`].
const READERS_MAX: u8 = 2;
/// From this depth on a holder gets a reader only if there is no shallower one that is free.
const CHAIN_MAX: u8 = 64;
/// The most holders of a piece that are known.
const HOLDERS_MAX: usize = 16;
/// After this time a holder has sent what it was asked for.
const READING: Duration = Duration::from_secs(1);
/// After this time a holder has the piece itself, however slow its network is.
const FILLING: Duration = Duration::from_secs(60);

/// A client that is about to read a piece.
pub struct Reader {
    pub session: SessionId,
    pub host: u64,
    pub now: Time,
}

/// The record of a piece.
pub fn slot(file: FileId, piece: u64) -> Key {
    Key::Copies(file, (piece % SLOTS) as u16)
}

/// Chooses one of the holders of a piece for a reader, and makes the reader one of them. Returns
/// the chosen client and its depth; `None` if the reader is to ask the servers. `host` tells the
/// host of a client.
pub fn place(
    holders: &mut Vec<CopyHolder>,
    reader: &Reader,
    host: impl Fn(SessionId) -> Option<u64>,
) -> Option<(SessionId, u8)> {
    holders.retain(|holder| holder.session != reader.session);
    let order = |holder: &CopyHolder| {
        let is_beside = host(holder.session) == Some(reader.host);
        let readers = readers_of(holder, reader.now);
        let depth = probable_depth(holder, reader.now);
        (!is_beside, depth >= CHAIN_MAX, readers, depth)
    };
    // Of equal ones the latest, because caches evict the earliest pieces first.
    let free = holders.iter_mut().rev();
    let free = free.filter(|holder| readers_of(holder, reader.now) < READERS_MAX);
    let chosen = free.min_by_key(|holder| order(holder)).map(|holder| {
        let depth = depth_of(holder, reader.now);
        if readers_of(holder, reader.now) == 0 {
            (holder.readers, holder.since) = (0, reader.now);
        }
        holder.readers += 1;
        holder.depth = depth;
        (holder.session, depth)
    });
    make_room(holders, reader.now);
    holders.push(CopyHolder {
        session: reader.session,
        depth: chosen.map_or(1, |(_, depth)| depth.saturating_add(1)),
        readers: 0,
        since: reader.now,
    });
    chosen
}

/// If too many holders are known, forgets one with all its readers, else the deepest, and of equal
/// ones the earliest.
fn make_room(holders: &mut Vec<CopyHolder>, now: Time) {
    if holders.len() < HOLDERS_MAX {
        return;
    }
    let is_full = |holder: &CopyHolder| readers_of(holder, now) >= READERS_MAX;
    let worst = holders.iter().enumerate().rev();
    let worst = worst.max_by_key(|(_, holder)| (is_full(holder), probable_depth(holder, now)));
    if let Some((at, _)) = worst {
        holders.remove(at);
    }
}

/// The readers of a piece that a holder is probably still sending to.
fn readers_of(holder: &CopyHolder, now: Time) -> u8 {
    if now.since(holder.since) > READING {
        0
    } else {
        holder.readers
    }
}

/// How many caches a piece has to pass through until a holder has it.
fn probable_depth(holder: &CopyHolder, now: Time) -> u8 {
    depth_after(holder, now, READING)
}

/// The same, where readers rely on it: one that waits for a client of no smaller depth waits in a
/// circle.
fn depth_of(holder: &CopyHolder, now: Time) -> u8 {
    depth_after(holder, now, FILLING)
}

fn depth_after(holder: &CopyHolder, now: Time, filled: Duration) -> u8 {
    if now.since(holder.since) > filled {
        1
    } else {
        holder.depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeMap, vec};

    fn reader(session: u64) -> Reader {
        Reader {
            session: SessionId(session),
            host: session,
            now: Time(1_000_000_000_000),
        }
    }

    /// Places readers on hosts of their own, one after the other. Returns whom each one asks.
    fn placed(readers: u64) -> (Vec<Option<(SessionId, u8)>>, Vec<CopyHolder>) {
        let mut holders = Vec::new();
        let host = |session: SessionId| Some(session.0);
        let place = |session| place(&mut holders, &reader(session), host);
        let chosen = (1..=readers).map(place).collect();
        (chosen, holders)
    }

    /// How often each client is asked.
    fn readers_of_each(chosen: &[Option<(SessionId, u8)>]) -> BTreeMap<SessionId, u8> {
        let mut readers = BTreeMap::new();
        for (session, _) in chosen.iter().flatten() {
            *readers.entry(*session).or_default() += 1;
        }
        readers
    }

    #[test]
    fn a_few_readers_are_a_chain_in_which_each_sends_once() {
        let (chosen, _) = placed(CHAIN_MAX.into());
        assert_eq!(chosen[0], None, "one reader asks the servers");
        assert!(chosen[1..].iter().all(Option::is_some));
        assert_eq!(readers_of_each(&chosen).values().max(), Some(&1));
    }

    #[test]
    fn chains_of_many_readers_are_bounded() {
        let (chosen, holders) = placed(4096);
        assert_eq!(chosen.iter().filter(|it| it.is_none()).count(), 1);
        let deepest = chosen.iter().flatten().map(|(_, depth)| *depth).max();
        assert!(deepest <= Some(CHAIN_MAX), "{deepest:?}");
        assert_eq!(readers_of_each(&chosen).values().max(), Some(&READERS_MAX));
        assert!(holders.len() <= HOLDERS_MAX);
    }

    #[test]
    fn a_reader_asks_a_client_of_its_own_host_first() {
        let mut holders = Vec::new();
        let mut place = |session| {
            let of = Reader {
                host: session % 2,
                ..reader(session)
            };
            let host = |session: SessionId| Some(session.0 % 2);
            place(&mut holders, &of, host).map(|(holder, _)| holder)
        };
        assert_eq!(place(1), None);
        place(2);
        assert_eq!(place(3), Some(SessionId(1)));
        assert_eq!(place(4), Some(SessionId(2)));
    }

    #[test]
    fn a_holder_is_free_again_after_a_while() {
        let busy = CopyHolder {
            session: SessionId(1),
            depth: 1,
            readers: READERS_MAX,
            since: reader(2).now,
        };
        let mut holders = vec![busy];
        let host = |_| None;
        assert_eq!(place(&mut holders, &reader(2), host), None);
        let later = Reader {
            now: busy.since + READING + Duration(1),
            ..reader(3)
        };
        holders.truncate(1);
        assert_eq!(place(&mut holders, &later, host), Some((busy.session, 1)));
        assert_eq!(holders[0].readers, 1);
    }

    /// Its fetch may be under way on a slow network, and waits only for those of a smaller depth.
    #[test]
    fn a_holder_keeps_its_depth_until_it_has_the_piece_for_certain() {
        let deep = CopyHolder {
            session: SessionId(1),
            depth: 3,
            readers: 0,
            since: Time(0),
        };
        for (after, depth) in [(READING, 3), (FILLING, 1)] {
            let later = Reader {
                now: Time(after.0 + 1),
                ..reader(2)
            };
            let mut holders = vec![deep];
            let chosen = place(&mut holders, &later, |_| None);
            assert_eq!(chosen, Some((deep.session, depth)));
            assert_eq!(holders[1].depth, depth + 1);
        }
    }

    /// Each time the clients before have had the piece for long, and may have evicted it.
    #[test]
    fn the_latest_holder_is_asked_first() {
        let mut holders = Vec::new();
        let host = |session: SessionId| Some(session.0);
        for session in 1..200 {
            let later = Reader {
                now: Time(session * 2 * FILLING.0),
                ..reader(session)
            };
            let chosen = place(&mut holders, &later, host);
            let before = (session > 1).then(|| (SessionId(session - 1), 1));
            assert_eq!(chosen, before);
        }
        assert!(holders.len() <= HOLDERS_MAX);
    }

    #[test]
    fn a_client_is_not_sent_to_itself() {
        let (_, mut holders) = placed(1);
        let host = |session: SessionId| Some(session.0);
        assert_eq!(place(&mut holders, &reader(1), host), None);
        assert_eq!(holders.len(), 1);
    }
}
