//! A simulated client: the real core and driver, and a workload.

mod data;
mod files;
mod leaves;
mod measuring;
mod names;
mod operation;
mod recalls;
mod sharing;
mod task;
#[cfg(test)]
mod tests;
mod trace;
mod undo;
mod workload;

use super::host::Moment;
use super::message::{Content, Message, Party, session_of};
use super::scene::{Scene, Stage, engine_ns, wall};
use super::statistics::Output;
use super::{Activity, Place};
use files::Files;
use futago_base::{FileId, RequestId, ServerId, Time};
use futago_client::{Config, Memory};
use futago_driver::{CallOutput, Calls};
use futago_trace::ROOT;
use futago_wire::{Body, Failure, Frame, Header, MessageKind, Outcome, Reply, header::features};
use leaves::{Answer, Recalled};
use measuring::measure;
use operation::Operation;
use serde::Serialize;
use sharing::Parked;
use std::sync::Arc;
use task::{Ended, Incoming, Task, Tools};
use trace::StepFiles;
use workload::Workload;

pub use data::{DataWork, find_file, make_file};
pub use names::{NameWork, directory_name};
pub use operation::{Done, Work, own_name};
pub use trace::TraceWork;
pub use undo::ClientUndo;
pub use workload::Names;

/// A client.
#[derive(Debug, Serialize)]
pub struct ClientProcess {
    number: u32,
    state: State,
    /// The names that it has, by [`Place::index`](super::Place::index).
    names: Vec<Names>,
    files: Files,
    calls: Calls,
    memory: Memory,
    /// Its operation, if one is under way.
    task: Option<Task>,
    keep_alive: Option<Task>,
    /// Requests of other clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parked: Vec<Parked>,
}

/// The small parts of a client.
#[derive(Clone, Copy, Debug, Serialize)]
struct State {
    workload: Workload,
    /// Sessions that servers have given up.
    expired: u32,
    dead: bool,
    /// Until when it is busy.
    free_ns: u64,
    /// When its timer runs out, if it is set.
    armed_ns: Option<u64>,
    /// When its next operation begins, if none is under way and the round goes on.
    next_ns: Option<u64>,
    keep_alive_ns: Option<u64>,
}

impl ClientProcess {
    pub fn new(number: u32, scene: &Scene) -> Self {
        let protocol = &scene.setup.protocol;
        let mut memory = Memory::new(&scene.client_config(number));
        for (planted, known) in scene.planted.iter().zip(&scene.known) {
            if let Some(buckets) = known {
                memory.remember_buckets(planted.id, buckets.clone());
            }
        }
        memory.record_changes();
        let period_ns = scene.server.lease.0 / 4;
        let mut names =
            vec![Names::default(); Place::Shared(scene.setup.directories.len()).index()];
        names[Place::Root.index()] = Names::with_directories(scene.setup.wide.each);
        Self {
            number,
            state: State {
                workload: Workload::new(names[place_index(scene, 0)]),
                expired: 0,
                dead: false,
                free_ns: 0,
                armed_ns: None,
                next_ns: None,
                keep_alive_ns: protocol.keep_alive.then_some(period_ns),
            },
            names,
            files: Files::default(),
            calls: new_calls(number, 0, scene),
            memory,
            task: None,
            keep_alive: None,
            parked: Vec::new(),
        }
    }
}

/// The place of a round's phase, by its number.
fn place_index(scene: &Scene, round: u32) -> usize {
    let phase = scene.phase_of(round);
    phase.map_or(Place::Own, |phase| phase.place).index()
}

fn new_calls(number: u32, expired: u32, scene: &Scene) -> Calls {
    let session = session_of(number, expired);
    Calls::new(session, scene.map.epoch(), scene.setup.protocol.calls)
}

/// The events of a client, in the order of time.
impl ClientProcess {
    /// A round begins.
    pub fn begin_round(
        &mut self,
        round: u32,
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        self.change_place(at.scene, round, undo.as_deref_mut());
        self.state.workload.begin(round, at.ns);
        if self.state.dead {
            return self.finish_round(at);
        }
        let (number, workload) = (self.number, &mut self.state.workload);
        self.state.next_ns = Some(workload.first_ns(at.scene, number, at.random));
        self.go_on(at, undo);
    }

    /// A message has arrived.
    pub fn receive(
        &mut self,
        message: &Message,
        at: &mut Moment<'_>,
        undo: Option<&mut ClientUndo>,
    ) {
        if self.state.dead {
            return;
        }
        match (&message.content, message.from) {
            (Content::Outcome { id, outcome }, Party::Server(from)) => {
                self.receive_outcome(message, from, (*id, outcome), at, undo);
            }
            (Content::Recall(recalls), Party::Server(server)) => {
                let recalls = recalls.clone();
                self.receive_recall(message, Recalled { server, recalls }, at, undo);
            }
            (Content::CacheRequest { id, request }, Party::Client(_)) => {
                self.receive_request(message, (*id, request), at, undo);
            }
            (Content::CacheReply { id, reply }, Party::Client(_)) => {
                self.receive_copy(message, (*id, reply), at, undo);
            }
            _ => {}
        }
    }

    /// A server has answered.
    fn receive_outcome(
        &mut self,
        message: &Message,
        from: ServerId,
        (id, outcome): (RequestId, &Outcome),
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        at.ns = at.ns.max(self.state.free_ns);
        let names = match outcome {
            Ok(Reply::Listing { entries, .. }) => entries.len(),
            _ => 0,
        };
        self.take_in(message, names, at);
        self.state.free_ns = at.ns;
        if *outcome == Err(Failure::SessionExpired) {
            if id.session == self.calls.session() {
                self.start_anew(at, undo.as_deref_mut());
            }
        } else {
            let header = Header {
                session: id.session,
                sequence: id.sequence,
                clock: message.clock,
                ..Header::new(MessageKind::Outcome)
            };
            let (outcome, payload) = (outcome.clone(), message.payload.clone());
            let now = wall(at.ns);
            self.calls.received(from, &header, outcome, payload, now);
        }
        self.go_on(at, undo);
    }

    /// Receives a message with so many names of a listing.
    fn take_in(&self, message: &Message, names: usize, at: &mut Moment<'_>) {
        let costs = &at.scene.setup.costs.client;
        let messages = at.client_messages(message.from);
        // A process in its time slice has paid for it.
        let batch_ns = if at.has_core { 0.0 } else { messages.batch_ns };
        at.occupy_and_copy(
            batch_ns
                + at.dear(costs.input_ns)
                + costs.listed_name_ns * names as f64
                + at.receive_ns(message, messages.byte_received_ns, costs.found_whole),
            at.left_bytes(message),
        );
    }

    /// The timer has run out.
    pub fn wake(&mut self, at: &mut Moment<'_>, undo: Option<&mut ClientUndo>) {
        // A timer that was replaced by an earlier one still runs out.
        let is_due = self.state.armed_ns.is_some_and(|due_ns| due_ns <= at.ns);
        if self.state.dead || !is_due {
            return;
        }
        self.state.armed_ns = None;
        at.ns = at.ns.max(self.state.free_ns);
        self.calls.tick(wall(at.ns));
        self.go_on(at, undo);
    }

    /// Whether it waits for the end of an operation.
    pub const fn waits(&self) -> bool {
        self.task.is_some()
    }

    /// It dies.
    pub fn die(&mut self, at: &mut Moment<'_>) {
        self.state.dead = true;
        self.finish_round(at);
    }

    /// Remembers the names in the place of the last phase, and takes up those of the next.
    fn change_place(&mut self, scene: &Scene, round: u32, undo: Option<&mut ClientUndo>) {
        let before = place_index(scene, self.state.workload.round);
        let after = place_index(scene, round);
        if let Some(undo) = undo {
            undo.names = Some((before, self.names[before]));
        }
        self.names[before] = self.state.workload.names;
        self.state.workload.names = self.names[after];
    }

    fn finish_round(&mut self, at: &mut Moment<'_>) {
        if !self.state.workload.finished {
            self.state.workload.finished = true;
            at.out.finished += 1;
        }
    }

    /// A server has given up the session: all that is under way fails, and what comes next belongs
    /// to a new session.
    fn start_anew(&mut self, at: &mut Moment<'_>, mut undo: Option<&mut ClientUndo>) {
        self.state.expired += 1;
        let calls = new_calls(self.number, self.state.expired, at.scene);
        let mut expired = std::mem::replace(&mut self.calls, calls);
        let failed: Vec<u64> = expired.sequences().collect();
        if let Some(undo) = undo.as_deref_mut() {
            self.calls.record_changes();
            let changes = expired.take_changes();
            undo.expired_calls
                .get_or_insert_with(|| Box::new((expired, changes)));
        }
        for sequence in failed {
            let answer = Answer {
                sequence,
                outcome: Err(Failure::SessionExpired),
                payload: futago_base::Payload::empty(),
            };
            self.answered(Incoming::Answer(answer), at, undo.as_deref_mut());
        }
    }

    /// Does all that is due.
    fn go_on(&mut self, at: &mut Moment<'_>, mut undo: Option<&mut ClientUndo>) {
        if self.state.keep_alive_ns.is_some_and(|due| due <= at.ns) {
            self.keep_session_alive(at, undo.as_deref_mut());
        }
        let now = self.calls.clock(wall(at.ns));
        let is_due = |task: &Option<Task>| {
            let wake = task.as_ref().and_then(|task| task.wake);
            wake.is_some_and(|wake| wake <= now)
        };
        if is_due(&self.task) {
            self.step(Slot::Main, None, at, undo.as_deref_mut());
        }
        if is_due(&self.keep_alive) {
            self.step(Slot::KeepAlive, None, at, undo.as_deref_mut());
        }
        if self.next_operation_ns().is_some_and(|due| due <= at.ns) {
            self.begin_operation(at, undo.as_deref_mut());
        }
        while let Some(output) = self.calls.next_output() {
            self.perform(output, at, undo.as_deref_mut());
        }
        self.finish(at, undo);
    }

    /// Does what follows from everything that has changed.
    fn finish(&mut self, at: &mut Moment<'_>, undo: Option<&mut ClientUndo>) {
        if !self.parked.is_empty() {
            self.serve(at);
        }
        if let Some(undo) = undo {
            undo.calls = Some(self.calls.take_changes());
        }
        self.arm(at);
    }

    /// The settings of the core. A client that writes data before a phase takes no leases, so that
    /// none of the data is cached.
    fn config(&self, scene: &Scene) -> Config {
        let config = scene.client_config(self.number);
        let round = self.state.workload.round;
        let activity = scene.phase_of(round).map(|phase| &phase.activity);
        let prepares = Stage::of(round) == Stage::Prepare;
        match activity {
            Some(Activity::Data(data)) if prepares && data.fill => Config {
                lease_trust: None,
                ..config
            },
            _ => config,
        }
    }

    fn perform(&mut self, output: CallOutput, at: &mut Moment<'_>, undo: Option<&mut ClientUndo>) {
        match output {
            // Connections are there from the start; to make one takes no time.
            CallOutput::Connect(server) => {
                let now = wall(at.ns);
                let credits = at.scene.setup.protocol.admission.session_max;
                self.calls.connected(server, now);
                self.calls.credits(server, credits, now);
            }
            CallOutput::Send { to, frame } => self.send(to, frame, at),
            CallOutput::Completed {
                sequence,
                outcome,
                payload,
            } => {
                let answer = Answer {
                    sequence,
                    outcome,
                    payload,
                };
                self.answered(Incoming::Answer(answer), at, undo);
            }
        }
    }

    fn send(&mut self, to: ServerId, frame: Frame, at: &mut Moment<'_>) {
        let Body::Request(request) = frame.body else {
            return;
        };
        let costs = &at.scene.setup.costs.client;
        let name: &str = (&request).into();
        let request_ns = costs.request_ns.get(name).copied();
        let request_ns = request_ns.unwrap_or(costs.other_request_ns);
        let messages = at.client_messages(Party::Server(to));
        let sent = frame.payload.len();
        at.occupy_and_copy(
            at.dear(request_ns) + messages.byte_sent_ns * sent as f64,
            sent,
        );
        self.state.free_ns = self.state.free_ns.max(at.ns);
        let id = RequestId {
            session: frame.header.session,
            sequence: frame.header.sequence,
        };
        let put_in = at.put_in(Party::Server(to), sent, messages.byte_sent_ns);
        let found_from_ns = put_in.map_or(at.ns, |put_in| put_in.from_ns);
        let message = Arc::new(Message {
            from: Party::Client(self.number),
            to: Party::Server(to),
            clock: frame.header.clock,
            content: Content::Request {
                id,
                acknowledged: frame.header.acknowledged,
                introduces: frame.header.features & features::INTRODUCES != 0,
                request,
            },
            payload: frame.payload,
            put_in,
        });
        at.out.messages.push((found_from_ns, message));
    }

    fn answered(&mut self, incoming: Incoming, at: &mut Moment<'_>, undo: Option<&mut ClientUndo>) {
        let asked = |task: &Option<Task>| {
            let (task, sequence) = (task.as_ref(), incoming.sequence());
            task.is_some_and(|task| sequence.is_some_and(|it| task.has_drawn(it)))
        };
        if asked(&self.task) {
            self.step(Slot::Main, Some(incoming), at, undo);
        } else if asked(&self.keep_alive) {
            self.step(Slot::KeepAlive, Some(incoming), at, undo);
        }
    }

    /// Lets a task go on.
    fn step(
        &mut self,
        slot: Slot,
        incoming: Option<Incoming>,
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        let (config, mut asked) = (self.config(at.scene), Vec::new());
        let task = match slot {
            Slot::Main => &mut self.task,
            Slot::KeepAlive => &mut self.keep_alive,
        };
        let Some(current) = task else { return };
        let now = self.calls.clock(wall(at.ns));
        let tools = Tools {
            client: self.number,
            map: &at.scene.map,
            config,
            setup: &at.scene.setup,
            host: at.scene.sharing_host(self.number),
            calls: &mut self.calls,
            memory: &mut self.memory,
            asked: &mut asked,
        };
        let ended = current.go_on(now, incoming, tools);
        let Some(ended) = ended else {
            return self.ask_clients(asked, at);
        };
        let changes = self.memory.take_changes();
        let operation = current.operation;
        let times = [current.arrived_ns, current.began_ns];
        let task = task.take();
        if let (Some(undo), Some(task)) = (undo.as_deref_mut(), task) {
            undo.memory.push(changes);
            match slot {
                Slot::Main => undo.task.ended(task),
                Slot::KeepAlive => undo.keep_alive.ended(task),
            }
        }
        if matches!(slot, Slot::Main) && operation != Operation::ReturnLeases {
            self.conclude(operation, times, ended, at, undo);
        }
    }

    /// The operation has ended.
    fn conclude(
        &mut self,
        operation: Operation,
        times: [u64; 2],
        ended: Ended,
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        if let Some(file) = ended.outcome.ok().and_then(|done| done.file) {
            self.remember(operation, file, undo.as_deref_mut());
        }
        let workload = &mut self.state.workload;
        measure(workload, operation, times, &ended, at);
        let next_ns = workload.next_ns(at.scene, self.number, at.ns, at.random);
        // An operation without a wait takes one nanosecond all the same; otherwise any number of
        // operations could end at one time.
        let next_ns = next_ns.max(at.ns + u64::from(!ended.waited));
        self.state.next_ns = Some(next_ns);
        if next_ns <= at.ns {
            self.begin_operation(at, undo);
        }
    }

    /// Remembers the file that an operation has made or found, if later ones need it.
    fn remember(&mut self, operation: Operation, file: FileId, undo: Option<&mut ClientUndo>) {
        let workload = &mut self.state.workload;
        match operation {
            Operation::MakeOwn => workload.own = Some(file),
            Operation::MakeFile(..) | Operation::FindFile(..) => workload.file = Some(file),
            Operation::Trace(work) => {
                let number = work.finds;
                let found = number.map(|number| self.files.found(work.phase, number, file));
                if let Some(undo) = undo {
                    undo.files.extend(found);
                }
            }
            _ => {}
        }
    }

    /// The files that a step of a trace is about.
    fn files_of(&self, work: TraceWork, scene: &Scene) -> StepFiles {
        let Some(phase) = scene.phase_of(self.state.workload.round) else {
            return StepFiles::default();
        };
        let root = self.state.workload.directory(scene, phase.place);
        work.files_in(&phase.activity, self.number, |number| match number {
            ROOT => root,
            number => self.files.get(work.phase, number),
        })
    }

    fn begin_operation(&mut self, at: &mut Moment<'_>, mut undo: Option<&mut ClientUndo>) {
        self.state.next_ns = None;
        // A round that is not certain may begin in the middle of an operation.
        if let (Some(undo), Some(interrupted)) = (undo.as_deref_mut(), self.task.take()) {
            undo.task.ended(interrupted);
        }
        let next = self
            .state
            .workload
            .next(at.scene, self.number, at.ns, at.random);
        let Some(mut operation) = next else {
            self.leave_the_rest(at);
            return self.finish_round(at);
        };
        if let Operation::Trace(work) = &mut operation {
            work.files = self.files_of(*work, at.scene);
        }
        let began_ns = at.ns;
        at.occupy(at.dear(at.scene.setup.costs.client.operation_ns));
        self.state.free_ns = at.ns;
        let mut task = Task::new(operation, began_ns, at.random.bits());
        if self.state.workload.arrivals(at.scene).is_some() {
            task.arrived_ns = self.state.workload.arrival_ns;
        }
        self.task = Some(task);
        self.step(Slot::Main, None, at, undo);
    }

    /// The phase is over: counts the operations that have arrived and will not begin.
    fn leave_the_rest(&mut self, at: &mut Moment<'_>) {
        let workload = &mut self.state.workload;
        let Some(window) = at.scene.window(workload.round, workload.began_ns) else {
            return;
        };
        let left = workload.left(at.scene, at.random);
        let left = left.into_iter();
        let left = left.map(|arrived_ns| Output::Left { window, arrived_ns });
        at.out.outputs.extend(left);
    }

    fn keep_session_alive(&mut self, at: &mut Moment<'_>, undo: Option<&mut ClientUndo>) {
        let last_round = at.scene.round_count().saturating_sub(1);
        if self.state.workload.finished && self.state.workload.round == last_round {
            self.state.keep_alive_ns = None;
            return;
        }
        self.state.keep_alive_ns = Some(at.ns.saturating_add(at.scene.server.lease.0 / 4));
        if self.keep_alive.is_none() {
            let random = at.random.bits();
            self.keep_alive = Some(Task::new(Operation::KeepAlive, at.ns, random));
            self.step(Slot::KeepAlive, None, at, undo);
        }
    }

    /// Sets the timer for what is due next, unless it runs out before that anyway.
    fn arm(&mut self, at: &mut Moment<'_>) {
        let wake = |task: &Option<Task>| task.as_ref().and_then(|task| task.wake);
        let times = [
            self.calls.next_deadline(),
            wake(&self.task),
            wake(&self.keep_alive),
        ];
        let times = times
            .into_iter()
            .flatten()
            .map(|time: Time| engine_ns(time));
        let others = [self.next_operation_ns(), self.state.keep_alive_ns];
        let parked = self.parked.iter().map(Parked::due_ns);
        let others = others.into_iter().flatten().chain(parked);
        let Some(due_ns) = times.chain(others).min() else {
            return;
        };
        let due_ns = due_ns.max(at.ns);
        if self.state.armed_ns.is_none_or(|armed| due_ns < armed) {
            self.state.armed_ns = Some(due_ns);
            at.out.timers.push((due_ns, self.number));
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Main,
    KeepAlive,
}
