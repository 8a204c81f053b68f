//! What a client knows of its connection to one server.

use crate::config::{CallsConfig, back_off};
use alloc::collections::VecDeque;
use futago_base::Time;
use serde::Serialize;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Connection {
    /// There is none, and none is to be tried before this time.
    Down(Time),
    /// One is being made.
    Connecting,
    /// There is one.
    Up,
}

/// The way to one server.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    pub connection: Connection,
    /// How many requests may be under way.
    pub window: u32,
    /// How many are, express ones not counted.
    pub under_way: u32,
    /// Those that wait for their turn.
    pub queue: VecDeque<u64>,
    /// Those that wait for the connection only.
    pub express: VecDeque<u64>,
    /// When the server was last heard of.
    pub contact: Time,
    /// Whether a request has been given up since.
    pub dead: bool,
    /// Whether the server has answered, and so knows the session.
    pub is_introduced: bool,
    /// Connections that failed or brought nothing, in a row.
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
            dead: false,
            is_introduced: false,
            failures: 0,
        }
    }

    /// The server was heard of.
    pub const fn heard(&mut self, now: Time) {
        self.contact = now;
        self.dead = false;
        self.failures = 0;
    }

    /// The connection broke, or did not come about: nothing is under way or in line any more.
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

    /// Puts a request in line.
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

    /// Whether anything waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.express.is_empty()
    }

    /// Takes a request out of the line.
    pub fn forget(&mut self, sequence: u64) {
        self.queue.retain(|&queued| queued != sequence);
        self.express.retain(|&queued| queued != sequence);
    }
}
