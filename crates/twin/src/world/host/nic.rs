//! The network interface of a host.

use serde::Serialize;

/// A network interface: one packet at a time in each direction.
///
/// The rules are those of `simple-net` of CODES: start-up and transmission occupy the sender; the
/// head of a packet is on its way when the transmission begins (cut-through), and the packet waits
/// again for the receiver, which its transmission occupies.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Nic {
    send_idle_ns: u64,
    receive_idle_ns: u64,
}

/// A span in which the interface was occupied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupied {
    pub from_ns: u64,
    /// When the head of the packet leaves; for a receiver the beginning.
    pub head_ns: u64,
    pub until_ns: u64,
}

impl Nic {
    /// Sends a packet.
    pub fn send(&mut self, at_ns: u64, startup_ns: u64, transmission_ns: u64) -> Occupied {
        let from_ns = at_ns.max(self.send_idle_ns);
        let head_ns = from_ns + startup_ns;
        self.send_idle_ns = head_ns + transmission_ns;
        Occupied {
            from_ns,
            head_ns,
            until_ns: self.send_idle_ns,
        }
    }

    /// Receives a packet whose head is here.
    pub fn receive(&mut self, at_ns: u64, transmission_ns: u64) -> Occupied {
        let from_ns = at_ns.max(self.receive_idle_ns);
        self.receive_idle_ns = from_ns + transmission_ns;
        Occupied {
            from_ns,
            head_ns: from_ns,
            until_ns: self.receive_idle_ns,
        }
    }
}

/// The time that so many bytes take, to the nearest nanosecond.
pub fn transmission_ns(bytes: u64, bytes_per_s: u64) -> u64 {
    let scaled = u128::from(bytes) * 1_000_000_000 + u128::from(bytes_per_s / 2);
    (scaled / u128::from(bytes_per_s.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_sender_issues_a_packet_every_start_up_and_transmission() {
        let mut nic = Nic::default();
        let heads: Vec<u64> = (0..3).map(|_| nic.send(100, 30, 5).head_ns).collect();
        assert_eq!(heads, [130, 165, 200]);
        assert_eq!(nic.send(1000, 30, 5).head_ns, 1030);
    }

    #[test]
    fn packets_from_many_senders_queue_at_the_receiver() {
        let mut nic = Nic::default();
        let ends: Vec<u64> = [10, 11, 40].map(|at| nic.receive(at, 8).until_ns).to_vec();
        assert_eq!(ends, [18, 26, 48]);
    }

    #[test]
    fn transmission_is_rounded_to_the_nearest_nanosecond() {
        assert_eq!(transmission_ns(512, 125_000_000), 4096);
        assert_eq!(transmission_ns(512, 1_250_000_000), 410);
        assert_eq!(transmission_ns(0, 1), 0);
        assert_eq!(transmission_ns(u64::MAX, u64::MAX), 1_000_000_000);
    }
}
