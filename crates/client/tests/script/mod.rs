//! A scripted context: it expects certain requests and gives certain replies.
#![allow(dead_code, reason = "not every test needs all of it")]

use futago_base::{
    Attributes, BucketStart, ClusterMap, Duration, FileId, Kind, Name, Partition, Payload,
    ServerId, SessionId, Time, Timestamp,
    map::Policy,
    record::{Entry, Header, HeaderSum},
};
use futago_client::{Client, Config, Context};
use futago_wire::{Failure, FileState, Outcome, Reply, Request, Spot, reply::DirectoryState};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::{Future, poll_fn},
    mem::replace,
    pin::pin,
    rc::Rc,
    task::{Poll, Waker},
};

/// An expected request, and its reply.
pub struct Exchange {
    pub to: u16,
    pub request: Request,
    pub data: Payload,
    pub outcome: Outcome,
    pub answer: Payload,
    /// How often the reply is polled before it arrives.
    pub polls: u32,
}

/// An expected request and its reply, both without data.
pub fn exchange(to: u16, request: Request, outcome: Outcome) -> Exchange {
    Exchange {
        to,
        request,
        data: Payload::empty(),
        outcome,
        answer: Payload::empty(),
        polls: 0,
    }
}

/// A node without a lease.
pub fn node(id: FileId, kind: Kind, size: u64, chunk_bytes: u32) -> FileState {
    let time = Timestamp::default();
    let attributes = Attributes {
        id,
        kind,
        mode: 0,
        uid: 0,
        gid: 0,
        links: 1,
        size,
        device: 0,
        accessed: time,
        modified: time,
        changed: time,
        born: time,
        chunk_bytes,
        allocated_bytes: Some(size),
    };
    FileState {
        attributes,
        directory: None,
        leased: false,
        data_leased: false,
        exclusive: false,
    }
}

#[derive(Clone)]
pub struct Script {
    exchanges: Rc<RefCell<VecDeque<Exchange>>>,
    /// The reply to all requests that the exchanges do not name.
    otherwise: Option<Failure>,
    pub session: Rc<Cell<SessionId>>,
    sequence: Rc<Cell<u64>>,
    now: Rc<Cell<u64>>,
}

pub const SESSION: SessionId = SessionId(9);

impl Context for Script {
    fn now(&self) -> Time {
        Time(self.now.get())
    }

    fn random(&self) -> u64 {
        0
    }

    fn session(&self) -> SessionId {
        self.session.get()
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }

    async fn call(
        &self,
        to: ServerId,
        _sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        let expected = self.exchanges.borrow_mut().pop_front();
        if let (None, Some(failure)) = (&expected, self.otherwise) {
            return Err(failure);
        }
        let expected = expected.unwrap_or_else(|| panic!("unexpected: {to} {request:?}"));
        assert_eq!(
            (to, &request, &payload),
            (ServerId(expected.to), &expected.request, &expected.data)
        );
        for _ in 0..expected.polls {
            recheck().await;
        }
        if expected.outcome == Err(Failure::SessionExpired) {
            self.session.set(SessionId(self.session.get().0 + 1));
        }
        expected.outcome.map(|reply| (reply, expected.answer))
    }

    async fn sleep(&self, span: Duration) {
        self.now.set(self.now.get() + span.0);
    }
}

/// Lets other tasks run first.
async fn recheck() {
    let mut has_looked = false;
    poll_fn(|_| match replace(&mut has_looked, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Runs an operation of a client of four servers with these settings. It must send these requests,
/// and no others unless all others fail.
pub fn run<T, F: Future<Output = T>>(
    config: Config,
    exchanges: Vec<Exchange>,
    otherwise: Option<Failure>,
    operation: impl FnOnce(Rc<Client<Script>>) -> F,
) -> T {
    let script = Script {
        exchanges: Rc::new(RefCell::new(exchanges.into())),
        otherwise,
        session: Rc::new(Cell::new(SESSION)),
        sequence: Rc::default(),
        now: Rc::new(Cell::new(1000)),
    };
    let map = ClusterMap::new(1, Policy::Modular, 16, 4).expect("a map");
    let client = Rc::new(Client::new(script.clone(), map, config));
    let mut future = pin!(operation(client));
    let mut task = std::task::Context::from_waker(Waker::noop());
    let Poll::Ready(output) = future.as_mut().poll(&mut task) else {
        panic!("nothing to wait for");
    };
    let left: Vec<Request> = script
        .exchanges
        .take()
        .into_iter()
        .map(|e| e.request)
        .collect();
    assert_eq!(left, [], "requests that were not sent");
    output
}

/// A write in parallel with others, whose last run without gaps begins at `last`.
pub fn beside(last: u64, mut exchange: Exchange) -> Exchange {
    if let Request::Write { covered_from, .. } = &mut exchange.request {
        *covered_from = last;
    }
    exchange
}

pub const CHUNK: u32 = 4096;

/// Runs an operation; it must send these requests and no others.
pub fn play<T, F: Future<Output = T>>(
    exchanges: Vec<Exchange>,
    operation: impl FnOnce(Rc<Client<Script>>) -> F,
) -> T {
    run(Config::default(), exchanges, None, operation)
}

pub fn id(partition: u16, counter: u64) -> FileId {
    FileId::new(Partition(partition), counter)
}

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).expect("a name")
}

pub fn spot(directory: FileId, bucket: u64, text: &str) -> Spot {
    Spot {
        directory,
        bucket: BucketStart(bucket),
        name: name(text),
    }
}

pub fn state(id: FileId, kind: Kind) -> FileState {
    let time = Timestamp::default();
    let header = Header {
        level: 0,
        mode: 0,
        gid: 0,
        chunk_bytes: 0,
        depth: 1,
        entries: 0,
        subdirectories: 0,
        pending: 0,
        modified: time,
    };
    let directory = (kind == Kind::Directory).then_some(DirectoryState {
        parent: FileId::ROOT,
        header,
        here: HeaderSum::from(&header),
        modified_set_at: time,
        modified_set_to: time,
    });
    FileState {
        directory,
        ..node(id, kind, 0, CHUNK)
    }
}

pub fn file(id: FileId) -> Entry {
    Entry {
        id,
        kind: Kind::File,
    }
}

pub fn found(entry: Entry, at_home: bool) -> Reply {
    Reply::Found {
        entry,
        state: at_home.then(|| state(entry.id, entry.kind)),
        created: false,
        directory: None,
    }
}
