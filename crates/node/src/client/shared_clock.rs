//! The time that clients of one program have seen.

use futago_base::Time;
use futago_driver::Calls;
use std::sync::atomic::{AtomicU64, Ordering};

/// The latest time that a message has brought to any of several clients. What a program does through
/// one of them may be caused by what it saw through another, and must not seem to be earlier.
#[derive(Debug, Default)]
pub struct SharedClock(AtomicU64);

impl SharedClock {
    /// Tells a client what its siblings have seen.
    pub fn teach(&self, calls: &mut Calls, now: Time) {
        calls.observe(Time(self.0.load(Ordering::Acquire)), now);
    }

    /// Learns what a client has seen. All of them know `now` themselves.
    pub fn learn(&self, calls: &mut Calls, now: Time) {
        let seen = calls.clock(now);
        if seen > now {
            self.0.fetch_max(seen.0, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{Payload, ServerId, SessionId};
    use futago_driver::{CallOutput, CallsConfig};
    use futago_wire::{Header, MessageKind, Reply, Request};

    const SERVER: ServerId = ServerId(3);

    fn calls(session: u64) -> Calls {
        let mut calls = Calls::new(SessionId(session), 1, CallsConfig::default());
        calls.connected(SERVER, Time(0));
        calls
    }

    /// The time that a request sent at `now` carries.
    fn time_sent(calls: &mut Calls, now: Time) -> Time {
        let sequence = calls.next_sequence();
        calls.start(sequence, SERVER, Request::KeepAlive, Payload::empty(), now);
        loop {
            match calls.next_output() {
                Some(CallOutput::Send { frame, .. }) => return frame.header.clock,
                Some(_) => {}
                None => panic!("nothing was sent"),
            }
        }
    }

    #[test]
    fn what_one_client_has_seen_another_one_s_request_is_not_before() {
        let (clock, now) = (SharedClock::default(), Time(100));
        let (mut one, mut other) = (calls(1), calls(2));
        let header = Header {
            session: SessionId(1),
            sequence: 1,
            clock: Time(900),
            ..Header::new(MessageKind::Request)
        };
        one.received(SERVER, &header, Ok(Reply::Done), Payload::empty(), now);
        clock.learn(&mut one, now);
        clock.teach(&mut other, now);
        assert_eq!(time_sent(&mut other, now), Time(900));
    }
}
