//! One core whose processes find messages.

use super::*;
use crate::world::message::{Content, Message, Party, PutIn};
use futago_base::{Payload, RequestId, ServerId, SessionId};
use futago_wire::Request;
use std::sync::Arc;

const PASS_NS: u64 = 1_000;
const PART_BYTES: usize = 64 << 10;

/// Two servers on one core.
fn scheduler() -> Scheduler {
    scheduler_on(1, 1)
}

fn scheduler_on(cores: u32, seed: u64) -> Scheduler {
    let kernel = Kernel {
        seed,
        ..Kernel::default()
    };
    scheduler_of(cores, 2, kernel)
}

fn scheduler_of(cores: u32, servers: u32, kernel: Kernel) -> Scheduler {
    let host = Host {
        group: 0,
        send_bytes_per_s: 1,
        receive_bytes_per_s: 1,
        cores,
        memory_bytes_per_s: None,
        byte_times: 1.0,
        servers,
        clients: 0,
    };
    let looking = Looking {
        pass_ns: PASS_NS,
        ..Looking::default()
    };
    Scheduler::new(&host, looking, kernel)
}

/// A request with so much data, which its sender puts in during that time.
fn request(to: u16, bytes: usize, put_in: Option<PutIn>) -> Event {
    let id = RequestId {
        session: SessionId(1),
        sequence: 1,
    };
    Event::Delivered(Arc::new(Message {
        from: Party::Client(0),
        to: Party::Server(ServerId(to)),
        clock: Time(0),
        content: Content::Request {
            id,
            acknowledged: 0,
            introduces: true,
            request: Request::GetStatus,
        },
        payload: Payload::from(bytes::Bytes::from(vec![0; bytes])),
        put_in,
    }))
}

/// Runs the plan to its end; every find takes `work_ns`. Returns each find with its time, process
/// and size.
fn finds(
    scheduler: &mut Scheduler,
    mut planned: Vec<Planned>,
    work_ns: u64,
) -> Vec<(u64, u32, Option<usize>)> {
    let mut found = Vec::new();
    while let Some(next) = (0..planned.len()).min_by_key(|&place| planned[place].0) {
        let (ns, event) = planned.swap_remove(next);
        let Event::TimeSlice { process, number } = event else {
            continue;
        };
        if scheduler.is_next(process, number) {
            let what = scheduler.begin(process, ns).expect("there is something");
            found.push((ns, process, what.part_bytes));
            scheduler.end(process, ns + work_ns, true, &mut planned);
        }
    }
    found
}

#[test]
fn who_takes_out_a_message_part_by_part_passes_its_core_on() {
    let (part_ns, work_ns) = (50_000, 10_000);
    let put_in = PutIn {
        from_ns: 0,
        until_ns: 2 * part_ns,
    };
    let mut scheduler = scheduler();
    let mut planned = Vec::new();
    // Both look, since they wait for something.
    for process in 0..2 {
        scheduler.wake(process, 0);
        scheduler.process(process).waits_since_ns = Some(0);
    }
    scheduler.arrive(0, request(0, 3 * PART_BYTES, Some(put_in)), 0, &mut planned);
    scheduler.arrive(1, request(1, 0, None), 0, &mut planned);
    let found = finds(&mut scheduler, planned, work_ns);
    let of = |process| found.iter().filter(move |find| find.1 == process);
    let parts: Vec<_> = of(0).map(|find| find.2).collect();
    assert_eq!(
        parts,
        [Some(PART_BYTES), Some(PART_BYTES), None],
        "{found:?}"
    );
    let other_ns = of(1).map(|find| find.0).collect::<Vec<_>>();
    assert!(matches!(other_ns[..], [ns] if ns < part_ns), "{found:?}");
    let looked_ns: Vec<_> = of(0).map(|find| find.0).collect();
    for (part, ns) in (0..).zip(looked_ns) {
        assert!(
            (part * part_ns..part * part_ns + work_ns + 3 * PASS_NS).contains(&ns),
            "{found:?}"
        );
    }
}

#[test]
fn who_is_alone_takes_out_a_message_at_once() {
    let put_in = PutIn {
        from_ns: 0,
        until_ns: 100_000,
    };
    let mut scheduler = scheduler();
    let mut planned = Vec::new();
    scheduler.arrive(0, request(0, 3 * PART_BYTES, Some(put_in)), 0, &mut planned);
    let found = finds(&mut scheduler, planned, 10_000);
    assert_eq!(found, [(0, 0, None)]);
}

#[test]
fn who_still_works_on_one_core_does_not_begin_on_another_one() {
    for seed in 0..8 {
        let mut scheduler = scheduler_on(2, seed);
        let mut planned = Vec::new();
        scheduler.arrive(0, request(0, 0, None), 0, &mut planned);
        let works_until_ns = 100_000;
        assert!(scheduler.begin(0, 0).is_some());
        scheduler.end(0, works_until_ns, false, &mut planned);
        planned.clear();
        scheduler.arrive(0, request(0, 0, None), 10_000, &mut planned);
        assert!(
            planned.iter().all(|&(ns, _)| ns >= works_until_ns),
            "{planned:?}"
        );
    }
}

#[test]
fn who_is_bound_to_a_core_never_leaves_it() {
    let kernel = Kernel {
        bind_to_core: true,
        ..Kernel::default()
    };
    let mut scheduler = scheduler_of(2, 3, kernel);
    // The third one finds the second core empty, then, and again when it is time to move a process.
    for (number, ns) in (0..).zip([0, 10_000, 2 * BALANCE_NS]) {
        let mut planned = Vec::new();
        for process in [0, 2] {
            scheduler.arrive(process, request(process as u16, 0, None), ns, &mut planned);
        }
        let found = finds(&mut scheduler, planned, 1_000);
        assert_eq!(found.len(), 2, "{number}: {found:?}");
        let cores = scheduler.processes.iter().map(|process| process.core);
        assert_eq!(cores.collect::<Vec<_>>(), [0, 1, 0], "{number}");
    }
}
