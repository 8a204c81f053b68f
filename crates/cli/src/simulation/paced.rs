//! Phases on a real cluster whose operations do not follow each other at once: clients think in
//! between, or operations arrive whether others have ended or not.

use super::part::Part;
use super::real::{RealClient, perform, window};
use futago_des::RandomStream;
use futago_node::RecordedClient;
use futago_twin::world::{Latency, Phase};
use rustix::thread::set_current_timer_slack;
use std::{
    num::NonZeroU64,
    thread,
    time::{Duration, Instant},
};

/// A client does not sleep for a shorter pause than this.
const SLEPT_MIN: Duration = Duration::from_micros(100);

/// Whether the operations of a phase follow each other at once.
pub fn is_paced(phase: &Phase) -> bool {
    phase.think != Latency::ZERO || phase.arrivals.is_some()
}

/// When operations of a client begin, counted from the beginning of the phase.
struct Starts<'a> {
    phase: &'a Phase,
    /// How many clients share the arrivals.
    clients: u32,
    /// When the next operation arrives, or its client has done thinking.
    next: Duration,
}

impl<'a> Starts<'a> {
    fn new(phase: &'a Phase, client: u32, clients: u32, random: &mut RandomStream) -> Self {
        let arrivals = phase.arrivals;
        let first_ns = arrivals.map_or(0, |it| it.first_ns(client, clients, random));
        Self {
            phase,
            clients,
            next: Duration::from_nanos(first_ns),
        }
    }

    /// An operation has ended.
    fn ended(&mut self, at: Duration, random: &mut RandomStream) {
        self.next = match self.phase.arrivals {
            Some(arrivals) => {
                self.next + Duration::from_nanos(arrivals.gap_ns(self.clients, random))
            }
            None => at + Duration::from_nanos(self.phase.think.draw(random)),
        };
    }

    /// How many operations have arrived before the end of the phase and will not begin.
    fn left(&mut self, until: Duration, random: &mut RandomStream) -> u64 {
        let mut left = 0;
        while self.phase.arrivals.is_some() && until < Duration::MAX && self.next < until {
            left += 1;
            self.ended(until, random);
        }
        left
    }
}

/// Waits. The kernel would end a short pause tens of microseconds late.
fn wait_until(due: Instant) {
    let pause = due.saturating_duration_since(Instant::now());
    if pause >= SLEPT_MIN {
        return thread::sleep(pause);
    }
    while Instant::now() < due {
        thread::yield_now();
    }
}

/// Performs a client's part of such a phase, one operation after the other. An operation that
/// arrives while the client is busy waits for it.
pub fn run(
    client: &mut RealClient,
    phase: &Phase,
    clients: u32,
    began: Instant,
) -> anyhow::Result<Part> {
    // Some pauses are short. If the kernel refuses, they are a little longer.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let (mut works, shared) = (client.works(phase), client.shared.clone());
    let (number, (warm, until, most)) = (client.number, window(phase.amount));
    let mut starts = Starts::new(phase, number, clients, &mut works.random);
    let mut part = Part::default();
    while part.performed < most && starts.next.max(part.ended) < until {
        let was_busy = starts.next <= part.ended;
        wait_until(began + starts.next);
        // That the kernel wakes it late is not what is measured.
        let from = if was_busy {
            starts.next
        } else {
            began.elapsed()
        };
        let Some((work, data)) = works.next(part.performed) else {
            break;
        };
        part.begin(1, began.elapsed() >= warm);
        let outcome = perform(&client.futago, async |core: &RecordedClient| {
            Ok(work.perform(core, number, &shared, data).await)
        })?;
        part.ended = began.elapsed();
        if part.ended >= warm && part.ended <= until {
            let bytes = outcome.as_ref().map(|_| work.bytes());
            part.add(
                work.kind(),
                bytes.map_err(|errno| *errno),
                part.ended - from,
            );
        }
        part.keep(work, outcome, &works);
        starts.ended(part.ended, &mut works.random);
    }
    part.left = starts.left(until, &mut works.random);
    client.go_on_from(phase, works);
    Ok(part)
}
