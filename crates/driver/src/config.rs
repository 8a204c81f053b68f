//! What can be told about a client's calls.

use futago_base::Duration;

/// How a client's requests are sent, sent again and given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallsConfig {
    /// How many requests may be under way to one server until it says otherwise. Default: 64.
    pub window: u32,
    /// The most that a server may allow. Default: 1,024.
    pub window_max: u32,
    /// How many requests may wait for their turn at one server; more fail with `Busy` at once.
    /// Default: 16,384.
    pub queue_max: usize,
    /// How long to wait for an answer before the request is sent again; doubles each time.
    /// Default: 1 s.
    pub resend_min: Duration,
    /// The longest wait before a request is sent again. Default: 5 s.
    pub resend_max: Duration,
    /// The first pause after a server said that it is busy; doubles each time. Default: 1 ms.
    pub busy_min: Duration,
    /// The longest pause after a server said that it is busy. Default: 250 ms.
    pub busy_max: Duration,
    /// A request fails with `EIO` once a server has said for this long that it is busy.
    /// Default: 30 s.
    pub busy_give_up: Duration,
    /// Whether the client takes leases, and so must be told when others change what it keeps. Default: no.
    pub leases: bool,
    /// The pause after a failed connection; doubles each time. Default: 10 ms.
    pub connect_min: Duration,
    /// The longest pause between connections. Default: 1 s.
    pub connect_max: Duration,
    /// A request fails with `EIO` once its server has not been heard of for this long. Something
    /// must be asked more often than that for a wait for a lock to last longer: the keep-alive of
    /// the session does it. Default: 10 s.
    pub give_up: Duration,
}

impl Default for CallsConfig {
    fn default() -> Self {
        Self {
            window: 64,
            window_max: 1024,
            queue_max: 16_384,
            resend_min: Duration::from_secs(1),
            resend_max: Duration::from_secs(5),
            busy_min: Duration::from_millis(1),
            busy_max: Duration::from_millis(250),
            busy_give_up: Duration::from_secs(30),
            leases: false,
            connect_min: Duration::from_millis(10),
            connect_max: Duration::from_secs(1),
            give_up: Duration::from_secs(10),
        }
    }
}

/// `first` doubled `attempts` times, at most `last`.
pub(crate) fn back_off(first: Duration, last: Duration, attempts: u32) -> Duration {
    Duration(first.times(1 << attempts.min(32)).0.min(last.0))
}
