//! The exact requests of a transaction across servers.

mod script;

use futago_base::{
    Errno, FileId, Partition, ServerId, Time, TransactionId, record::TransactionState,
};
use futago_client::RenameFlags;
use futago_wire::{Failure, Reply, Request, Step};
use script::{Exchange, SESSION, exchange, file, found, id, name, play, spot};

const SOURCE: FileId = id_in(1);
const TARGET: FileId = id_in(2);

const fn id_in(partition: u16) -> FileId {
    FileId::new(Partition(partition), 5)
}

fn prepare(sequence: u64, to: u16, step_names: (&str, &str)) -> Request {
    let moved = file(id(3, 7));
    let steps = match to {
        1 => vec![Step::RemoveEntry {
            at: spot(SOURCE, 0, step_names.0),
            expected: moved,
        }],
        2 => vec![Step::PutEntry {
            at: spot(TARGET, 0, step_names.1),
            entry: moved,
            replaces: None,
        }],
        _ => vec![Step::Touch(moved.id)],
    };
    let participants = if to == 1 {
        vec![ServerId(1), ServerId(2), ServerId(3)]
    } else {
        vec![]
    };
    Request::Prepare {
        transaction: transaction(sequence),
        age: Time(1000),
        status_server: ServerId(1),
        participants,
        steps,
    }
}

const fn transaction(sequence: u64) -> TransactionId {
    TransactionId {
        session: SESSION,
        sequence,
    }
}

fn lookups(target: Result<Reply, Failure>) -> [Exchange; 2] {
    let moved = file(id(3, 7));
    [
        exchange(
            1,
            Request::Lookup(spot(SOURCE, 0, "from")),
            Ok(found(moved, false)),
        ),
        exchange(2, Request::Lookup(spot(TARGET, 0, "to")), target),
    ]
}

fn attempt(sequence: u64, last: Result<Reply, Failure>) -> Vec<Exchange> {
    let names = ("from", "to");
    let prepared = || Ok(Reply::Prepared(None));
    let commit = last.is_ok();
    let state = if commit {
        TransactionState::Committed
    } else {
        TransactionState::Aborted
    };
    let decide = Request::Decide {
        transaction: transaction(sequence),
        commit,
    };
    let mut exchanges = Vec::from(lookups(Err(Errno::ENOENT.into())));
    exchanges.extend([
        exchange(1, prepare(sequence, 1, names), prepared()),
        exchange(2, prepare(sequence, 2, names), prepared()),
        exchange(3, prepare(sequence, 3, names), last),
        exchange(1, decide, Ok(Reply::Decided(state))),
    ]);
    exchanges
}

fn rename(exchanges: Vec<Exchange>) -> Result<(), Errno> {
    play(exchanges, |client| async move {
        let (from, to) = (name("from"), name("to"));
        client
            .rename(SOURCE, &from, TARGET, &to, RenameFlags::default())
            .await
    })
}

#[test]
fn a_rename_across_servers_prepares_its_status_first_and_decides_there() {
    assert_eq!(rename(attempt(3, Ok(Reply::Prepared(None)))), Ok(()));
}

#[test]
fn a_rename_that_meets_a_change_gives_up_and_starts_again_with_its_age() {
    let mut exchanges = attempt(3, Err(Failure::Changed));
    exchanges.extend(attempt(10, Ok(Reply::Prepared(None))));
    assert_eq!(rename(exchanges), Ok(()));
}

#[test]
fn a_rename_that_is_refused_gives_up_and_fails() {
    let exchanges = attempt(3, Err(Errno::ENOSPC.into()));
    assert_eq!(rename(exchanges), Err(Errno::ENOSPC));
}

#[test]
fn a_replaced_file_loses_its_link_in_the_same_transaction() {
    let replaced = file(id(1, 9));
    let mut exchanges = Vec::from(lookups(Ok(found(replaced, false))));
    let refused = Err(Errno::EIO.into());
    let Request::Prepare {
        transaction,
        age,
        status_server,
        participants,
        mut steps,
    } = prepare(3, 1, ("from", "to"))
    else {
        panic!("not a Prepare");
    };
    steps.push(Step::DropLink(replaced.id));
    let first = Request::Prepare {
        transaction,
        age,
        status_server,
        participants,
        steps,
    };
    exchanges.push(exchange(1, first, refused));
    assert_eq!(rename(exchanges), Err(Errno::EIO));
}
