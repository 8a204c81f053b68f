//! Theoretical results for the models.

/// The probability of having to wait in M/M/c with `offered` = arrival rate × mean service time,
/// below `servers` (Erlang's C formula; Kleinrock, "Queueing Systems", volume 1, 1975, section
/// 3.5).
///
/// It uses the recursion for Erlang's B formula, which is stable for any number of servers.
pub fn erlang_c(servers: u32, offered: f64) -> f64 {
    let blocking = (1..=servers).fold(1.0, |blocking, k| {
        offered * blocking / (f64::from(k) + offered * blocking)
    });
    let utilization = offered / f64::from(servers);
    blocking / (1.0 - utilization * (1.0 - blocking))
}

/// The mean time in the queue of M/M/c, in the unit of `service`; for one server,
/// ρ/(1-ρ) × service.
pub fn mean_wait(servers: u32, arrival_rate: f64, service: f64) -> f64 {
    let offered = arrival_rate * service;
    erlang_c(servers, offered) * service / (f64::from(servers) - offered)
}

/// The throughput and the mean number of customers of each of `stations` equal stations with one
/// exponential server. `customers` move between them at random and travel for `travel` in between.
///
/// Exact mean-value analysis (Reiser and Lavenberg, "Mean-value analysis of closed multichain
/// queuing networks", JACM 27(2), 1980). Travelling is a station with infinitely many servers,
/// where only the mean counts.
pub fn closed_network(stations: u32, customers: u32, service: f64, travel: f64) -> (f64, f64) {
    let mut queue = 0.0;
    let mut throughput = 0.0;
    for population in 1..=customers {
        let residence = service * (1.0 + queue);
        throughput = f64::from(population) / (residence + travel) / f64::from(stations);
        queue = throughput * residence;
    }
    (throughput, queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_the_textbook_formula() {
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((mean_wait(1, 0.5, 1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn two_servers_by_hand() {
        // C(2, a) = a² / (2 + a) for a < 2.
        assert!((erlang_c(2, 1.5) - 1.5 * 1.5 / 3.5).abs() < 1e-12);
    }

    #[test]
    fn a_single_customer_never_waits() {
        let (throughput, queue) = closed_network(4, 1, 2.0, 3.0);
        assert!((throughput * 4.0 - 1.0 / 5.0).abs() < 1e-12);
        assert!((queue * 4.0 - 2.0 / 5.0).abs() < 1e-12);
    }
}
