//! The connections to other clients whose caches this client reads from.

use crate::client::NodeContext;
use atomic_refcell::AtomicRefCell;
use futago_base::{Payload, SessionId};
use futago_transport::{
    Channel, Continuation, HandshakeError, Hello, Party, Receiver, Role, Sender, reach, split,
};
use futago_wire::{Body, CacheReply, CacheRequest, Frame, Header, Holder, MessageKind};
use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, oneshot},
    task::spawn_local,
    time::timeout,
};

/// The longest time for connecting. A reader waits less.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Beyond so many connections, idle ones are closed.
const LINKS_MAX: usize = 64;

type Answer = (CacheReply, Payload);

/// The connections. The lock of the client protects them.
pub struct Holders {
    state: AtomicRefCell<State>,
    /// Notified when clients must be connected.
    wanted: Notify,
}

#[derive(Default)]
struct State {
    links: BTreeMap<SessionId, Link>,
    wanted: Vec<Arc<Holder>>,
    /// The number of the last request.
    last: u64,
}

#[derive(Default)]
struct Link {
    sender: Option<Arc<Sender>>,
    receiver: Option<Arc<Receiver>>,
    /// Messages to send when it is connected.
    queued: Vec<Frame>,
    /// The receivers of replies, by request.
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
}

impl Holders {
    pub fn new() -> Self {
        Self {
            state: AtomicRefCell::default(),
            wanted: Notify::new(),
        }
    }

    /// Waits until clients must be connected.
    async fn wanted(&self) -> Vec<Arc<Holder>> {
        self.wanted.notified().await;
        std::mem::take(&mut self.state.borrow_mut().wanted)
    }

    /// Forgets a connection: those who wait for replies get none.
    fn lost(&self, session: SessionId) {
        self.state.borrow_mut().links.remove(&session);
    }

    fn received(&self, from: SessionId, frame: Frame) {
        let Body::CacheReply(reply) = frame.body else {
            return;
        };
        if reply == CacheReply::Coming {
            return;
        }
        let mut state = self.state.borrow_mut();
        let link = state.links.get_mut(&from);
        let waiting = link.and_then(|link| link.waiting.remove(&frame.header.sequence));
        if let Some(done) = waiting {
            // The reader may have gone to a server.
            let _ = done.send((reply, frame.payload));
        }
    }
}

impl Holders {
    /// How many bytes of a client have arrived.
    pub fn heard_of(&self, session: SessionId) -> u64 {
        let state = self.state.borrow();
        let link = state.links.get(&session);
        let receiver = link.and_then(|link| link.receiver.as_ref());
        receiver.map_or(0, |receiver| receiver.received_bytes())
    }
}

impl State {
    /// Closes connections that nobody uses, if there are many.
    fn close_idle(&mut self) {
        if self.links.len() < LINKS_MAX {
            return;
        }
        for link in self.links.values_mut() {
            link.waiting.retain(|_, done| !done.is_closed());
            if link.waiting.is_empty()
                && let Some(sender) = &link.sender
            {
                sender.close();
            }
        }
    }
}

impl NodeContext {
    /// Sends a request to another client. The receiver fails if the client cannot be reached.
    pub(in crate::client) fn ask_holder(
        &self,
        holder: Arc<Holder>,
        request: CacheRequest,
    ) -> oneshot::Receiver<Answer> {
        let (done, answer) = oneshot::channel();
        let mut state = self.holders().state.borrow_mut();
        state.last += 1;
        let header = Header {
            session: self.session_now(),
            sequence: state.last,
            ..Header::new(MessageKind::CacheRequest)
        };
        let frame = Frame {
            header,
            body: Body::CacheRequest(request),
            payload: Payload::empty(),
        };
        if !state.links.contains_key(&holder.session) {
            state.close_idle();
            state.wanted.push(Arc::clone(&holder));
            self.holders().wanted.notify_one();
        }
        let link = state.links.entry(holder.session).or_default();
        link.waiting.retain(|_, done| !done.is_closed());
        link.waiting.insert(header.sequence, done);
        match &link.sender {
            Some(sender) => self.post(sender, &frame),
            None => link.queued.push(frame),
        }
        answer
    }

    /// Connects other clients on demand, for as long as this client lives.
    pub(in crate::client) async fn keep_reaching_holders(self) {
        loop {
            for holder in self.holders().wanted().await {
                let context = self.clone();
                spawn_local(async move {
                    let connection = pin!(run(&context, &holder));
                    context.poll_with_lock(connection).await;
                });
            }
        }
    }

    fn holder_reached(&self, session: SessionId, receiver: &Arc<Receiver>, sender: &Arc<Sender>) {
        let mut state = self.holders().state.borrow_mut();
        let Some(link) = state.links.get_mut(&session) else {
            return;
        };
        link.sender = Some(Arc::clone(sender));
        link.receiver = Some(Arc::clone(receiver));
        for frame in std::mem::take(&mut link.queued) {
            self.post(sender, &frame);
        }
    }
}

/// Connects, passes replies on until the connection breaks, and forgets it.
async fn run(context: &NodeContext, holder: &Holder) {
    let session = holder.session;
    match timeout(CONNECT_MAX, connect(context, holder)).await {
        Ok(Ok(channel)) => {
            let (receiver, sender) = split(channel, context.setup().budget.clone());
            let receiver = Arc::new(receiver);
            context.holder_reached(session, &receiver, &sender);
            tokio::select! {
                () = read(context, session, &receiver) => {}
                error = sender.drive() => tracing::debug!(%error, "a client has gone"),
            }
        }
        Ok(Err(error)) => tracing::debug!(%error, "cannot connect to a client"),
        Err(_) => tracing::debug!("cannot connect to a client in time"),
    }
    context.holders().lost(session);
}

async fn connect(context: &NodeContext, holder: &Holder) -> Result<Channel, HandshakeError> {
    let cluster = &context.setup().cluster;
    let address = std::str::from_utf8(&holder.door.address).ok();
    let address = address.and_then(|text| text.parse().ok());
    let hello = Hello {
        from: Role::Client,
        to: Party::Client(holder.session),
        map_epoch: cluster.epoch,
        continues: Continuation::Socket,
        is_secure: cluster.secure,
    };
    let address = address.ok_or(HandshakeError::Server)?;
    let (channel, _) = reach(
        &address,
        cluster.id.0,
        &cluster.key,
        cluster.fabric.as_ref(),
        hello,
    )
    .await?;
    Ok(channel)
}

async fn read(context: &NodeContext, from: SessionId, receiver: &Receiver) {
    let mut frames = Vec::new();
    loop {
        let ended = receiver.receive(&mut frames).await;
        for frame in frames.drain(..) {
            context.holders().received(from, frame);
        }
        if let Err(error) = ended {
            return tracing::debug!(%error, "a client has gone");
        }
    }
}
