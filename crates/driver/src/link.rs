//! The state of a client's connection to one server.

use crate::config::{CallsConfig, back_off};
use alloc::collections::VecDeque;
use futago_base::Time;
use serde::Serialize;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Connection {
    /// There is none, and the client does not connect before this time.
    Down(Time),
    /// The client is connecting.
    Connecting,
    /// The connection is open.
    Up,
}

/// The connection to one server, and the requests for it.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    pub connection: Connection,
    /// How many requests may be under way.
    pub window: u32,
    /// How many requests in the window are under way.
    pub under_way: u32,
    /// The requests that wait for a place in the window.
    pub queue: VecDeque<u64>,
    /// The requests that bypass the window and wait for the connection.
    pub express: VecDeque<u64>,
    /// When the latest message of the server arrived.
    pub contact: Time,
    /// When bytes of any message were last seen to pass, if the caller reports that.
    pub progress: Time,
    /// Whether a request has been given up since then.
    pub dead: bool,
    /// Whether the server has answered a request, and so knows the session.
    pub is_introduced: bool,
    /// How many connections in a row failed or brought no message.
    failures: u32,
}

impl Link {
    pub const fn new(window: u32) -> Self {
        Self {
            connection: Connection::Down(Time(0)),
            window,
            under_way: 0,
            queue: VecDeque::new(),
            express: VecDeque::new(),
            contact: Time(0),
            progress: Time(0),
            dead: false,
            is_introduced: false,
            failures: 0,
        }
    }

    /// A message of the server has arrived.
    pub const fn heard(&mut self, now: Time) {
        self.contact = now;
        self.dead = false;
        self.failures = 0;
    }

    /// The connection broke or failed: no request is under way or queued any more.
    pub fn broke(&mut self, config: &CallsConfig, now: Time) {
        let retry = match self.failures {
            0 => now,
            failures => now + back_off(config.connect_min, config.connect_max, failures - 1),
        };
        self.failures = self.failures.saturating_add(1);
        self.connection = Connection::Down(retry);
        self.under_way = 0;
        self.queue.clear();
        self.express.clear();
    }

    /// Queues a request.
    pub fn push(&mut self, sequence: u64, express: bool) {
        if express {
            self.express.push_back(sequence);
        } else {
            self.queue.push_back(sequence);
        }
    }

    /// The next request that may be sent.
    pub fn next(&mut self) -> Option<u64> {
        if self.connection != Connection::Up {
            return None;
        }
        if let Some(sequence) = self.express.pop_front() {
            return Some(sequence);
        }
        if self.under_way < self.window {
            return self.queue.pop_front();
        }
        None
    }

    /// Whether no request is queued.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.express.is_empty()
    }

    /// Takes a request out of the queue.
    pub fn forget(&mut self, sequence: u64) {
        self.queue.retain(|&queued| queued != sequence);
        self.express.retain(|&queued| queued != sequence);
    }
}
