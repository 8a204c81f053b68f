use std::collections::VecDeque;

use serde::Serialize;

use super::summary::Measured;
use super::{Change, Queueing, QueueingEvent, QueueingProcess, QueueingUndo, exponential_delay};
use crate::{Context, Forward, Mode, ProcessId, Saved, Time};

/// Servers and the queue before them.
#[derive(Clone, Debug, Serialize)]
pub struct Station {
    busy: u32,
    /// The arrival times of the waiting customers.
    waiting: VecDeque<Time>,
    /// The results of committed events.
    pub measured: Measured,
    #[serde(skip)]
    settings: StationSettings,
}

#[derive(Clone, Debug)]
struct StationSettings {
    servers: u32,
    service_ticks: f64,
    closed: bool,
    customers: u32,
    travel: Time,
}

/// The change of a station by an event.
#[derive(Debug)]
pub enum StationUndo {
    /// A customer arrived and was served at once.
    Served,
    /// A customer arrived and waits at the end of the queue.
    Queued,
    /// A customer left and none was waiting.
    Left,
    /// A customer left, and the customer who arrived at this time took the server.
    Replaced(Time),
}

impl Station {
    pub(super) fn new(model: &Queueing) -> Station {
        Station {
            busy: 0,
            waiting: VecDeque::new(),
            measured: Measured::from(Time::from_seconds(model.warm_up_s)),
            settings: StationSettings {
                servers: model.servers,
                service_ticks: model.service_s * 1e9,
                closed: model.arrivals_per_s.is_none(),
                customers: model.customers,
                travel: Time::from_seconds(model.travel_s),
            },
        }
    }

    pub(super) fn start(&mut self, ctx: &mut Context<'_, QueueingProcess, Forward>) {
        if self.settings.closed {
            for _ in 0..self.settings.customers {
                ctx.schedule(self.settings.travel, QueueingEvent::Arrive);
            }
        }
    }

    /// Saves the undo first: it depends on the state alone.
    pub(super) fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &QueueingEvent,
        ctx: &mut Context<'_, QueueingProcess, M>,
    ) -> Saved<M, QueueingUndo> {
        let saved = ctx.save(|| QueueingUndo::Station(self.undo_of(event)));
        let customers_before = self.busy + self.waiting.len() as u32;
        let busy_before = self.busy;
        let wait = match event {
            QueueingEvent::Depart => self.depart(now, ctx),
            QueueingEvent::Arrive | QueueingEvent::Create => self.arrive(now, ctx),
        };
        ctx.emit(Change {
            customers_before,
            busy_before,
            wait,
        });
        saved
    }

    fn undo_of(&self, event: &QueueingEvent) -> StationUndo {
        match (event, self.waiting.front()) {
            (QueueingEvent::Depart, None) => StationUndo::Left,
            (QueueingEvent::Depart, Some(&came)) => StationUndo::Replaced(came),
            _ if self.busy < self.settings.servers => StationUndo::Served,
            _ => StationUndo::Queued,
        }
    }

    fn arrive<M: Mode>(
        &mut self,
        now: Time,
        ctx: &mut Context<'_, QueueingProcess, M>,
    ) -> Option<Time> {
        if self.busy == self.settings.servers {
            self.waiting.push_back(now);
            return None;
        }
        self.busy += 1;
        self.begin_service(ctx);
        Some(Time::ZERO)
    }

    fn depart<M: Mode>(
        &mut self,
        now: Time,
        ctx: &mut Context<'_, QueueingProcess, M>,
    ) -> Option<Time> {
        if self.settings.closed {
            // All processes of a closed network are stations.
            let stations = u64::from(ctx.process_count());
            let to = ctx.random().below(stations) as u32;
            ctx.send(ProcessId(to), self.settings.travel, QueueingEvent::Arrive);
        }
        let Some(came) = self.waiting.pop_front() else {
            self.busy -= 1;
            return None;
        };
        self.begin_service(ctx);
        Some(now.since(came))
    }

    fn begin_service<M: Mode>(&self, ctx: &mut Context<'_, QueueingProcess, M>) {
        let delay = exponential_delay(self.settings.service_ticks, ctx);
        ctx.schedule(delay, QueueingEvent::Depart);
    }

    pub(super) fn undo(&mut self, undo: StationUndo) {
        match undo {
            StationUndo::Served => self.busy -= 1,
            StationUndo::Queued => drop(self.waiting.pop_back()),
            StationUndo::Left => self.busy += 1,
            StationUndo::Replaced(came) => self.waiting.push_front(came),
        }
    }

    pub(super) fn finish(&mut self, end: Time) {
        let customers_before = self.busy + self.waiting.len() as u32;
        self.measured.add(
            end,
            Change {
                customers_before,
                busy_before: self.busy,
                wait: None,
            },
        );
    }
}
