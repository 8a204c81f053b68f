//! Calls over a network that loses, doubles and reorders: every call completes exactly once,
//! with its own reply, and no reply is acknowledged before it has arrived.

use futago_base::{Duration, FileId, Payload, RequestId, ServerId, SessionId, Time};
use futago_driver::{Admission, AdmissionConfig, CallOutput, Calls, CallsConfig};
use futago_wire::{Body, Failure, Frame, Header, MessageKind, Outcome, Reply, Request};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SESSION: SessionId = SessionId(1);
const SERVERS: u16 = 3;

/// The fate of a message or a connection, by a drawn number.
#[derive(Clone, Debug)]
struct Fate {
    lost: bool,
    doubled: bool,
    broken: bool,
    busy: bool,
    delay: u64,
}

fn fate() -> impl Strategy<Value = Fate> {
    (0..10u8, 0..10u8, 0..40u8, 0..6u8, 1..80u64).prop_map(
        |(lost, doubled, broken, busy, delay)| Fate {
            lost: lost < 3,
            doubled: doubled < 2,
            broken: broken == 0,
            busy: busy == 0,
            delay,
        },
    )
}

enum Event {
    Request(ServerId, Frame),
    Answer(ServerId, u64, Outcome),
    Connected(ServerId),
    Disconnected(ServerId),
}

struct World {
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    counter: u64,
    fates: Vec<Fate>,
    drawn: usize,
    /// The requests that have taken effect, with their replies.
    effects: BTreeSet<u64>,
    completed: BTreeMap<u64, Vec<Outcome>>,
    most_acknowledged: BTreeMap<ServerId, u64>,
    admissions: BTreeMap<ServerId, Admission>,
}

impl World {
    fn fate(&mut self) -> Fate {
        self.drawn += 1;
        // After a while the network heals, so that every run ends.
        if self.drawn > 400 {
            return Fate {
                lost: false,
                doubled: false,
                broken: false,
                busy: false,
                delay: 1,
            };
        }
        self.fates[self.drawn % self.fates.len()].clone()
    }

    fn later(&mut self, delay: u64, event: Event) {
        self.counter += 1;
        self.events.insert((self.now + delay, self.counter), event);
    }

    fn perform(&mut self, output: CallOutput) {
        let fate = self.fate();
        match output {
            CallOutput::Connect(server) if fate.lost => {
                self.later(fate.delay, Event::Disconnected(server))
            }
            CallOutput::Connect(server) => self.later(fate.delay, Event::Connected(server)),
            CallOutput::Send { to, frame } => {
                if fate.doubled {
                    self.later(fate.delay * 2, Event::Request(to, frame.clone()));
                }
                if fate.broken {
                    self.later(fate.delay, Event::Disconnected(to));
                }
                if !fate.lost {
                    self.later(fate.delay, Event::Request(to, frame));
                }
            }
            CallOutput::Completed {
                sequence, outcome, ..
            } => {
                self.completed.entry(sequence).or_default().push(outcome);
            }
        }
    }

    /// A server that keeps replies until they are acknowledged.
    fn serve(&mut self, server: ServerId, frame: Frame) {
        let sequence = frame.header.sequence;
        let Body::Request(request) = &frame.body else {
            panic!("not a request");
        };
        let id = RequestId {
            session: SESSION,
            sequence,
        };
        let admission = self.admissions.entry(server).or_insert_with(|| {
            Admission::new(AdmissionConfig {
                session_max: 4,
                total_max: 4,
                express_max: 1,
            })
        });
        assert!(admission.admit(id, request), "the client kept its window");
        admission.answered(id);
        let acknowledged = self.most_acknowledged.entry(server).or_default();
        *acknowledged = (*acknowledged).max(frame.header.acknowledged);
        let late = sequence <= *acknowledged;
        let fate = self.fate();
        let outcome = match (late, fate.busy) {
            (true, _) => Err(Failure::Late),
            (false, true) if !self.effects.contains(&sequence) => Err(Failure::Busy),
            _ => Ok(Reply::Number(sequence)),
        };
        if outcome.is_ok() {
            self.effects.insert(sequence);
        }
        if fate.doubled {
            self.later(
                fate.delay * 3,
                Event::Answer(server, sequence, outcome.clone()),
            );
        }
        if !fate.lost {
            self.later(fate.delay, Event::Answer(server, sequence, outcome));
        }
    }
}

fn config() -> CallsConfig {
    CallsConfig {
        window: 4,
        resend_min: Duration(50),
        resend_max: Duration(400),
        busy_min: Duration(5),
        busy_max: Duration(50),
        connect_min: Duration(5),
        connect_max: Duration(50),
        give_up: Duration(1_000_000),
        busy_give_up: Duration(1_000_000),
        ..CallsConfig::default()
    }
}

fn deliver(calls: &mut Calls, world: &mut World, event: Event) {
    let now = Time(world.now);
    match event {
        Event::Request(server, frame) => world.serve(server, frame),
        Event::Answer(server, sequence, outcome) => {
            let header = Header {
                session: SESSION,
                sequence,
                ..Header::new(MessageKind::Outcome)
            };
            calls.received(server, &header, outcome, Payload::empty(), now);
        }
        Event::Connected(server) => calls.connected(server, now),
        Event::Disconnected(server) => calls.disconnected(server, now),
    }
}

fn run(count: u64, fates: Vec<Fate>) -> World {
    let mut calls = Calls::new(SESSION, 1, config());
    let mut world = World {
        now: 0,
        events: BTreeMap::new(),
        counter: 0,
        fates,
        drawn: 0,
        effects: BTreeSet::new(),
        completed: BTreeMap::new(),
        most_acknowledged: BTreeMap::new(),
        admissions: BTreeMap::new(),
    };
    for number in 0..count {
        let sequence = calls.next_sequence();
        let server = ServerId((number % u64::from(SERVERS)) as u16);
        let request = Request::Open(FileId(number));
        calls.start(sequence, server, request, Payload::empty(), Time(0));
    }
    loop {
        while let Some(output) = calls.next_output() {
            world.perform(output);
        }
        if calls.is_empty() {
            return world;
        }
        let event = world.events.first_key_value().map(|(&(time, _), _)| time);
        let timer = calls.next_deadline().map(|time| time.0);
        world.now = world
            .now
            .max(event.into_iter().chain(timer).min().expect("a call hangs"));
        calls.tick(Time(world.now));
        if event.is_some_and(|time| time <= world.now)
            && let Some((_, event)) = world.events.pop_first()
        {
            deliver(&mut calls, &mut world, event);
        }
    }
}

proptest! {
    #[test]
    fn every_call_completes_once_with_its_own_answer(
        count in 1..30u64,
        fates in prop::collection::vec(fate(), 1..200),
    ) {
        let world = run(count, fates);
        let all: BTreeSet<u64> = (1..=count).collect();
        prop_assert_eq!(world.completed.keys().copied().collect::<BTreeSet<_>>(), all.clone());
        prop_assert_eq!(&world.effects, &all);
        for (sequence, outcomes) in world.completed {
            prop_assert_eq!(outcomes, vec![Ok(Reply::Number(sequence))]);
        }
    }
}
