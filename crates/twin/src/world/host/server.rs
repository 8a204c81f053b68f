//! A simulated server: the real core, driver and store.

use super::disk::{DiskState, Wait};
use super::moment::Moment;
use super::pages::{Pages, PagesUndo};
use crate::world::event::Event;
use crate::world::message::{Content, Message, Party, PutIn};
use crate::world::scene::{Scene, engine_ns, wall};
use crate::world::{Disk, DiskReads, ResourceClass};
use futago_base::{Batch, ChunkId, DataChange, Payload, ServerId, Space, View, Work};
use futago_driver::{ServerDriver, ServerDriverUndo};
use futago_server::{Decision, Input, Output, Server};
use futago_store::{MemoryStore, Sync};
use futago_wire::{Push, Request};
use serde::Serialize;
use std::sync::Arc;

type Driver = ServerDriver<Server, MemoryStore>;

/// A server.
#[derive(Debug, Serialize)]
pub struct ServerProcess {
    driver: Driver,
    /// Its place on its host.
    #[serde(skip)]
    place: u32,
    state: State,
    /// When each place of the store is free, if their number is limited.
    store_free_ns: Vec<u64>,
    /// The file data in memory, if some may be on the disk alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<Box<Pages>>,
}

/// The small parts of a server.
#[derive(Clone, Copy, Debug, Serialize)]
struct State {
    /// Until when it is busy.
    free_ns: u64,
    /// When its next tick is due, if one is.
    tick_ns: Option<u64>,
    /// How often it has stopped.
    life: u32,
    stopped: bool,
    disk: DiskState,
    /// Until when no truncation of other servers' chunks is named that is not durable.
    truncated_ns: u64,
}

/// The undo of an event at a server.
#[derive(Debug)]
pub struct ServerUndo {
    state: State,
    batch: Option<Batch>,
    driver: ServerDriverUndo,
    store_free_ns: Option<(usize, u64)>,
    pages: Option<Box<PagesUndo>>,
    /// Its driver before it stopped, or before it was back.
    lost: Option<Box<Driver>>,
    /// Whether that driver's store is the present one's.
    store_stays: bool,
}

/// The origin of an input.
#[derive(Clone, Copy, Debug, Default)]
struct Origin<'a> {
    /// The request's name, if it is one.
    request: Option<&'a str>,
    /// The message that brought it, if one did.
    message: Option<&'a Message>,
}

impl ServerProcess {
    pub fn new(id: ServerId, place: u32, scene: &Scene) -> Self {
        let core = Server::new(id, scene.map.clone(), scene.server.clone());
        let concurrency = scene.setup.store.concurrency.unwrap_or(0);
        Self {
            driver: new_driver(core, scene),
            place,
            state: State {
                free_ns: 0,
                tick_ns: None,
                life: 0,
                stopped: false,
                disk: DiskState::default(),
                truncated_ns: 0,
            },
            store_free_ns: vec![0; concurrency as usize],
            pages: disk_reads(scene).map(|_| Box::default()),
        }
    }

    /// The space of its store.
    pub fn space(&self) -> Space {
        self.driver.store().space()
    }

    /// The undo of the next event; to be called before it.
    pub fn begin_undo(&mut self) -> ServerUndo {
        ServerUndo {
            state: self.state,
            batch: None,
            driver: self.driver.begin_undo(),
            store_free_ns: None,
            pages: self.pages.as_mut().map(|it| Box::new(it.begin_undo())),
            lost: None,
            store_stays: false,
        }
    }

    /// A message has arrived.
    pub fn receive(
        &mut self,
        message: &Message,
        at: &mut Moment<'_>,
        undo: Option<&mut ServerUndo>,
    ) {
        if self.state.stopped {
            return;
        }
        self.driver.observe(message.clock, wall(at.ns));
        let (input, request) = match &message.content {
            Content::Request {
                id,
                acknowledged,
                introduces,
                request,
            } => {
                let input = Input::Request {
                    id: *id,
                    acknowledged: *acknowledged,
                    request: request.clone(),
                    payload: message.payload.clone(),
                    leases: at.scene.setup.protocol.leases,
                    introduces: *introduces,
                };
                (input, Some(request.into()))
            }
            Content::Peer(peer) => (Input::Peer(peer.clone()), None),
            Content::PeerAnswer(answer) => (Input::PeerAnswer(*answer), None),
            Content::Outcome { .. }
            | Content::Recall(_)
            | Content::CacheRequest { .. }
            | Content::CacheReply { .. } => return,
        };
        if let Some(refusal) = self.driver.admit(&input) {
            return self.refuse(refusal, at);
        }
        let origin = Origin {
            request,
            message: Some(message),
        };
        self.decide(input, origin, at, undo);
    }

    /// A tick is due.
    pub fn tick(&mut self, life: u32, at: &mut Moment<'_>, undo: Option<&mut ServerUndo>) {
        // A tick that was replaced by an earlier one still comes.
        let is_due = self.state.tick_ns.is_some_and(|due_ns| due_ns <= at.ns);
        if life != self.state.life || !is_due {
            return;
        }
        self.state.tick_ns = None;
        self.decide(Input::Tick, Origin::default(), at, undo);
        if let Some(next) = self.driver.next_tick(wall(at.ns)) {
            self.set_tick(engine_ns(next), at);
        }
    }

    /// The decision is stored: its messages leave.
    pub fn release(
        &mut self,
        life: u32,
        messages: &[Arc<Message>],
        at: &mut Moment<'_>,
        undo: Option<&mut ServerUndo>,
    ) {
        if life != self.state.life {
            return;
        }
        for message in messages {
            self.send(Arc::clone(message), at);
        }
        if let Some(undo) = undo {
            self.driver.end_undo(&mut undo.driver);
        }
    }

    /// It stops and loses everything that is not on its disk, or it is back, with the rest.
    pub fn restart(&mut self, stopped: bool, at: &mut Moment<'_>, undo: Option<&mut ServerUndo>) {
        self.state.stopped = stopped;
        self.state.life += 1;
        self.state.tick_ns = None;
        let driver = match at.scene.setup.disk {
            Some(_) if stopped => return,
            Some((disk, _)) => self.recovered_driver(&disk, at),
            None => new_driver(self.driver.server().clone(), at.scene),
        };
        let lost = std::mem::replace(&mut self.driver, driver);
        if let Some(undo) = undo {
            undo.lost = Some(Box::new(lost));
            undo.store_stays = at.scene.setup.disk.is_some();
        }
        if at.scene.setup.disk.is_some()
            && let Some(next) = self.driver.next_tick(wall(at.ns))
        {
            self.set_tick(engine_ns(next).max(self.state.free_ns), at);
        }
    }

    /// A driver with the present store. Its server reads the log before it does anything else.
    fn recovered_driver(&mut self, disk: &Disk, at: &Moment<'_>) -> Driver {
        let decided = self.driver.decided();
        let store = std::mem::replace(self.driver.store_mut(), MemoryStore::new(0));
        let records = store.records().count();
        self.state.free_ns = at.ns + disk.recovery_ns(records);
        let admission = at.scene.setup.protocol.admission;
        ServerDriver::resume(self.driver.server().clone(), store, admission, decided)
    }

    /// Handles an input: decides, charges for it, stores, and sends.
    fn decide(
        &mut self,
        input: Input,
        origin: Origin<'_>,
        at: &mut Moment<'_>,
        mut undo: Option<&mut ServerUndo>,
    ) {
        let arrived_ns = at.ns;
        if !at.has_core && self.state.free_ns <= at.ns {
            at.ns += at.scene.setup.costs.wake_up_ns;
        }
        // The input is decided once earlier ones are; nothing that comes later can change that.
        at.ns = at.ns.max(self.state.free_ns);
        let decision = self.driver.decide(input, wall(at.ns).into());
        self.charge(&decision, origin, arrived_ns, at);
        at.count_transactions(decision.transactions);
        let bytes = is_stored(&decision.batch).then(|| written_bytes(&decision.batch));
        self.use_pages(&decision, origin, at);
        self.store(decision.batch, at, undo.as_deref_mut());
        let leaving = self.promise(decision.outputs, bytes, arrived_ns, at);
        self.send_all(leaving, arrived_ns, at);
        if let Some(undo) = undo {
            self.driver.end_undo(&mut undo.driver);
            if let (Some(pages), Some(undo)) = (&mut self.pages, &mut undo.pages) {
                pages.end_undo(undo);
            }
        }
    }

    /// Notes the use of file data. The server itself reads what is on the disk alone.
    fn use_pages(&mut self, decision: &Decision, origin: Origin<'_>, at: &mut Moment<'_>) {
        let (Some(pages), Some(reads)) = (&mut self.pages, disk_reads(at.scene)) else {
            return;
        };
        for change in &decision.batch.data {
            if let DataChange::Write {
                chunk,
                offset,
                payload,
            } = change
            {
                pages.write(*chunk, u64::from(*offset) + payload.len() as u64, &reads);
            }
        }
        let sent = decision.outputs.iter().map(|output| sent_data(output).1);
        let bytes = sent.sum::<usize>() as u64;
        let chunk_bytes = at.scene.setup.protocol.client.chunk_bytes;
        let message = origin.message.filter(|_| bytes > 0);
        let Some(chunk) = message.and_then(|message| read_chunk(message, chunk_bytes)) else {
            return;
        };
        let draw = || reads.latency.draw(at.random);
        if let Some(read_ns) = pages.read(chunk, bytes, &reads, draw) {
            let begun_ns = at.ns;
            at.ns += read_ns;
            self.state.free_ns = at.ns;
            at.used(ResourceClass::Store, [begun_ns, begun_ns, at.ns]);
        }
    }

    /// Works for a decision and its messages.
    fn charge(
        &mut self,
        decision: &Decision,
        origin: Origin<'_>,
        arrived_ns: u64,
        at: &mut Moment<'_>,
    ) {
        let begun_ns = at.ns;
        let outputs = &decision.outputs;
        let sent = outputs.iter().map(|output| sent_data(output).1);
        let received = origin.message.map_or(0, |message| at.left_bytes(message));
        let copied = received + sent.sum::<usize>();
        let work_ns = cost_ns(at, origin.request, decision.work) + disk_ns(at, &decision.batch);
        let messages_ns = messages_ns(at, origin.message, outputs);
        at.occupy_and_copy(work_ns + messages_ns, copied);
        if at.ns > begun_ns {
            self.state.free_ns = at.ns;
            at.used(ResourceClass::Server, [arrived_ns, begun_ns, at.ns]);
        }
    }

    /// Applies a batch, and waits until it is stored if it has to be.
    fn store(&mut self, batch: Batch, at: &mut Moment<'_>, mut undo: Option<&mut ServerUndo>) {
        let stored = is_stored(&batch).then(|| written_bytes(&batch));
        if let Some(after) = self.driver.server().tick_after(&batch) {
            self.set_tick(at.ns.saturating_add(after.0), at);
        }
        match undo.as_deref_mut() {
            Some(undo) => undo.batch = Some(self.driver.store_mut().apply_with_undo(batch)),
            None => self.driver.store_mut().apply(batch),
        }
        if let Some(bytes) = stored {
            self.wait_for_store(bytes, at, undo);
        }
    }

    /// Writes a batch with so much file data to the disk, if there is one. Sends the outputs that
    /// must survive a loss of power when they do, and returns the others.
    fn promise(
        &mut self,
        outputs: Vec<Output>,
        bytes: Option<usize>,
        arrived_ns: u64,
        at: &mut Moment<'_>,
    ) -> Vec<Output> {
        let Some((disk, sync)) = at.scene.setup.disk else {
            return outputs;
        };
        if let Some(bytes) = bytes {
            let draw = || disk.latency.draw(at.random);
            self.state.disk.write(at.ns, bytes, &disk, draw);
        }
        let truncates = outputs.iter().any(Output::truncates_elsewhere);
        let all_wait = sync == Sync::Always || at.ns < self.state.truncated_ns || truncates;
        let waits = |output: &Output| all_wait || output.is_acted_upon();
        let (waiting, leaving): (Vec<_>, Vec<_>) = outputs.into_iter().partition(waits);
        if !waiting.is_empty() {
            let wait = self.wait_for_disk(&disk, at);
            if truncates {
                self.state.truncated_ns = wait.end_ns;
            }
            let now_ns = std::mem::replace(&mut at.ns, wait.end_ns);
            self.send_all(waiting, arrived_ns, at);
            at.ns = now_ns;
        }
        leaving
    }

    fn wait_for_disk(&mut self, disk: &Disk, at: &mut Moment<'_>) -> Wait {
        let draw = || disk.latency.draw(at.random);
        let wait = self.state.disk.wait(at.ns, disk, draw);
        if wait.end_ns > at.ns {
            at.used(ResourceClass::Store, [at.ns, wait.begin_ns, wait.end_ns]);
        }
        wait
    }

    /// Waits until a change with so much file data is stored.
    fn wait_for_store(&mut self, bytes: usize, at: &mut Moment<'_>, undo: Option<&mut ServerUndo>) {
        let store = &at.scene.setup.store;
        let bytes_ns = (store.byte_ns * bytes as f64).round() as u64;
        let latency_ns = store.latency.draw(at.random) + bytes_ns;
        let arrived_ns = at.ns;
        let free = self.store_free_ns.iter().copied().enumerate();
        if let Some((place, free_ns)) = free.min_by_key(|&(_, free_ns)| free_ns) {
            at.ns = at.ns.max(free_ns);
            self.store_free_ns[place] = at.ns + latency_ns;
            if let Some(undo) = undo {
                undo.store_free_ns = Some((place, free_ns));
            }
        }
        let begun_ns = at.ns;
        at.ns += latency_ns;
        if at.ns > arrived_ns {
            at.used(ResourceClass::Store, [arrived_ns, begun_ns, at.ns]);
        }
    }

    /// Sends messages, at once or when the time has come.
    fn send_all(&mut self, outputs: Vec<Output>, now_ns: u64, at: &mut Moment<'_>) {
        if outputs.is_empty() {
            return;
        }
        let clock = self.driver.clock(wall(at.ns));
        let from = Party::Server(self.driver.id());
        let put_in = put_in(at, &outputs);
        let found_from_ns = put_in.map_or(at.ns, |put_in| put_in.from_ns);
        let messages = outputs.into_iter().filter_map(|output| {
            let message = message(from, clock, output)?;
            Some(Arc::new(Message { put_in, ..message }))
        });
        if at.ns == now_ns {
            for message in messages {
                self.send(message, at);
            }
            return;
        }
        let release = Event::Release {
            server: self.place,
            life: self.state.life,
            messages: messages.collect(),
        };
        at.out.events.push((found_from_ns, release));
    }

    fn send(&mut self, message: Arc<Message>, at: &mut Moment<'_>) {
        if let Content::Outcome { id, .. } = &message.content {
            self.driver.note_reply(*id);
        }
        at.out.messages.push((at.ns, message));
    }

    /// Answers a request that is one too many, without looking at it.
    fn refuse(&mut self, refusal: Output, at: &mut Moment<'_>) {
        let clock = self.driver.clock(wall(at.ns));
        let from = Party::Server(self.driver.id());
        let busy = message(from, clock, refusal).map(Arc::new);
        at.out.messages.extend(busy.map(|busy| (at.ns, busy)));
    }

    fn set_tick(&mut self, due_ns: u64, at: &mut Moment<'_>) {
        if self.state.tick_ns.is_none_or(|tick_ns| due_ns < tick_ns) {
            self.state.tick_ns = Some(due_ns);
            let (server, life) = (self.place, self.state.life);
            at.out.events.push((due_ns, Event::Tick { server, life }));
        }
    }

    /// Brings the server back to where it was before its latest event.
    pub fn undo(&mut self, undo: ServerUndo) {
        self.state = undo.state;
        if let Some(mut lost) = undo.lost {
            if undo.store_stays {
                std::mem::swap(lost.store_mut(), self.driver.store_mut());
            }
            self.driver = *lost;
        }
        self.driver.undo(undo.driver);
        if let Some(batch) = undo.batch {
            self.driver.store_mut().apply(batch);
        }
        if let Some((place, free_ns)) = undo.store_free_ns {
            self.store_free_ns[place] = free_ns;
        }
        if let (Some(pages), Some(undo)) = (&mut self.pages, undo.pages) {
            pages.undo(*undo);
        }
    }
}

/// How file data is read that is not in memory.
fn disk_reads(scene: &Scene) -> Option<DiskReads> {
    let (disk, _) = scene.setup.disk?;
    disk.reads
}

/// The chunk that a message reads from.
fn read_chunk(message: &Message, chunk_bytes: u32) -> Option<ChunkId> {
    match &message.content {
        Content::Request {
            request: Request::Read { id, offset, .. },
            ..
        } => Some(ChunkId {
            file: *id,
            index: offset / u64::from(chunk_bytes),
        }),
        Content::Request {
            request: Request::ReadChunk { chunk, .. },
            ..
        } => Some(*chunk),
        _ => None,
    }
}

fn new_driver(core: Server, scene: &Scene) -> Driver {
    let store = MemoryStore::new(scene.setup.protocol.store_bytes);
    let mut driver = ServerDriver::new(core, store, scene.setup.protocol.admission, wall(0));
    for directory in &scene.planted {
        let batch = driver.server().plant(driver.store(), directory, wall(0));
        driver.store_mut().apply(batch);
    }
    driver
}

/// Whether a batch changes anything that a store would have to keep.
fn is_stored(batch: &Batch) -> bool {
    let mut put = batch.records.iter().filter(|(_, value)| value.is_some());
    !batch.data.is_empty() || put.any(|(key, _)| key.is_durable())
}

/// The CPU time of an input.
fn cost_ns(at: &Moment<'_>, name: Option<&str>, work: Work) -> f64 {
    let costs = &at.scene.setup.costs.server;
    let of_name = name.and_then(|name| costs.request_ns.get(name).copied());
    let of_request = of_name.unwrap_or(costs.input_ns)
        + costs.output_ns * f64::from(work.messages)
        + costs.record_read_ns * f64::from(work.records_read)
        + costs.record_written_ns * f64::from(work.records_written);
    at.dear(of_request)
        + costs.scanned_ns(at.held.files) * f64::from(work.records_scanned)
        + costs.byte_ns * work.data_bytes as f64
}

/// The time that a server takes to hand a batch to the system of its disk.
fn disk_ns(at: &Moment<'_>, batch: &Batch) -> f64 {
    match at.scene.setup.disk {
        Some((disk, _)) if is_stored(batch) => {
            disk.batch_ns + disk.handed_byte_ns * written_bytes(batch) as f64
        }
        _ => 0.0,
    }
}

/// The receiver of a message, and the file data that goes with it.
fn sent_data(output: &Output) -> (Party, usize) {
    match output {
        Output::Reply {
            request, payload, ..
        } => (Party::of_session(request.session), payload.len()),
        Output::Push { session, .. } => (Party::of_session(*session), 0),
        Output::Peer { to, .. } | Output::PeerAnswer { to, .. } => (Party::Server(*to), 0),
    }
}

/// The costs of an incoming message and of the outgoing ones.
fn messages_ns(at: &Moment<'_>, message: Option<&Message>, outputs: &[Output]) -> f64 {
    let received_ns = message.map_or(0.0, |message| {
        let costs = at.server_messages(message.from);
        // A process in its time slice has paid for it.
        let batch_ns = if at.has_core { 0.0 } else { costs.batch_ns };
        let found_whole = at.scene.setup.costs.server.found_whole;
        batch_ns + at.receive_ns(message, costs.byte_received_ns, found_whole)
    });
    let sent = outputs
        .iter()
        .map(sent_data)
        .filter(|&(_, bytes)| bytes > 0);
    let sent_ns = sent.map(|(to, bytes)| at.server_messages(to).byte_sent_ns * bytes as f64);
    received_ns + sent_ns.sum::<f64>()
}

/// When a decision's only message was put in, if it is published part by part; of several none is.
fn put_in(at: &Moment<'_>, outputs: &[Output]) -> Option<PutIn> {
    let [output] = outputs else { return None };
    let (to, bytes) = sent_data(output);
    at.put_in(to, bytes, at.server_messages(to).byte_sent_ns)
}

/// The file data that a batch writes, in bytes.
fn written_bytes(batch: &Batch) -> usize {
    let changes = batch.data.iter().map(|change| match change {
        DataChange::Write { payload, .. } => payload.len(),
        DataChange::Punch { .. } => 0,
    });
    changes.sum()
}

/// The message of an output. Connections have their credits from the start.
fn message(from: Party, clock: futago_base::Time, output: Output) -> Option<Message> {
    let (to, content, payload) = match output {
        Output::Reply {
            request: id,
            outcome,
            payload,
        } => {
            let to = Party::of_session(id.session);
            (to, Content::Outcome { id, outcome }, payload)
        }
        Output::Push {
            push: Push::Credits(_),
            ..
        } => return None,
        Output::Push {
            session,
            push: Push::Recall(recalls),
        } => {
            let to = Party::of_session(session);
            (to, Content::Recall(recalls), Payload::empty())
        }
        Output::Peer { to, message } => {
            let to = Party::Server(to);
            (to, Content::Peer(message), Payload::empty())
        }
        Output::PeerAnswer { to, answer } => {
            let to = Party::Server(to);
            (to, Content::PeerAnswer(answer), Payload::empty())
        }
    };
    Some(Message {
        from,
        to,
        clock,
        content,
        payload,
        put_in: None,
    })
}
