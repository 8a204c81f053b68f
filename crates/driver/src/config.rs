//! Settings of a client's calls.

use futago_base::Duration;

/// How a client sends requests, resends them and gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallsConfig {
    /// How many requests may be under way to one server before it sends credits. Default: 64.
    pub window: u32,
    /// The largest window that a server may grant, in requests. Default: 1,024.
    pub window_max: u32,
    /// How many requests to one server may be queued; further requests fail with `Busy` at once.
    /// Default: 16,384.
    pub queue_max: usize,
    /// The first timeout after which a request is sent again; it doubles each time. Default: 1 s.
    pub resend_min: Duration,
    /// The longest timeout after which a request is sent again. Default: 5 s.
    pub resend_max: Duration,
    /// The first pause after a `Busy` reply; it doubles each time. Default: 1 ms.
    pub busy_min: Duration,
    /// The longest pause after a `Busy` reply. Default: 250 ms.
    pub busy_max: Duration,
    /// A request fails with `EIO` after `Busy` replies for this long. Default: 30 s.
    pub busy_give_up: Duration,
    /// Whether the client takes leases, so that servers notify it of changes by others.
    /// Default: no.
    pub leases: bool,
    /// The first pause after a failed connection; it doubles each time. Default: 10 ms.
    pub connect_min: Duration,
    /// The longest pause between attempts to connect. Default: 1 s.
    pub connect_max: Duration,
    /// A request fails with `EIO` when its server has been silent for this long. A wait for a lock
    /// lasts longer only because the session's keep-alive requests are answered meanwhile.
    /// Default: 10 s.
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
