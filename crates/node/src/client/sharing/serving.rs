//! The thread that answers other clients from a client's cache.
//!
//! It takes the client's lock only to look up blocks. It copies, sums and sends them outside, so
//! the client's own operations hardly notice.

use super::door::listen;
use crate::client::{NodeContext, RecordedClient};
use futago_base::{Payload, ServerId, record::Door};
use futago_transport::{
    Acceptor, Channel, ConnectionHandler, ConnectionSlot, HandshakeError, Hello, Listener, Party,
    Receiver, Refusal, Sender, poll_streams, split,
};
use futago_wire::{Body, CacheReply, Frame, Header, MessageKind};
use std::{
    io,
    pin::pin,
    rc::Rc,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    task::{LocalSet, spawn_local},
    time::timeout,
};

/// The most connections of other clients.
const CONNECTIONS_MAX: usize = 1024;
/// The most requests of one connection that wait for their answers. A client has a few under way
/// for each of its reads.
const UNDER_WAY_MAX: usize = 1024;
/// No more messages are read from a client that leaves so many bytes unread.
const UNREAD_BYTES_MAX: usize = 8 << 20;

/// A client that waits for a reply hears of it at this interval, a fraction of the time for which
/// it waits in silence.
const COMING_AFTER: Duration = Duration::from_millis(100);

/// A running thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Serving(#[expect(dead_code, reason = "its end is the message")] oneshot::Sender<()>);

impl Serving {
    /// Begins to answer other clients.
    ///
    /// # Errors
    /// The thread cannot be started, or no port can be had.
    pub fn start(client: &Arc<RecordedClient>) -> io::Result<Self> {
        let (ends, ended) = oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let client = Arc::clone(client);
        let work = move || run(&client, &ready, ended);
        thread::Builder::new()
            .name("futago-sharing".into())
            .spawn(work)?;
        // A thread that has failed has dropped the other end.
        is_ready.recv().map_err(io::Error::other)??;
        Ok(Self(ends))
    }
}

fn run(
    client: &Arc<RecordedClient>,
    ready: &mpsc::Sender<io::Result<()>>,
    ended: oneshot::Receiver<()>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // The client has given up if nobody receives it.
            let _ = ready.send(Err(error));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async {
        let serving = spawn_local(serve(Arc::clone(client), ready.clone()));
        spawn_local(poll_streams(|look| look()));
        // An error says that the client is gone.
        let _ = ended.await;
        serving.abort();
    });
}

async fn serve(client: Arc<RecordedClient>, ready: mpsc::Sender<io::Result<()>>) {
    let cluster = &client.context().setup().cluster;
    let (listener, door) = match listen(cluster).await {
        Ok(listening) => listening,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let nearby = listen_nearby(&client, &door);
    let handler = Visitors {
        client: Arc::clone(&client),
    };
    let acceptor = Acceptor::new(
        cluster.key.clone(),
        CONNECTIONS_MAX,
        cluster.fabric.clone(),
        handler,
    );
    client.context().open_door(door);
    let _ = ready.send(Ok(()));
    if let Some(nearby) = nearby {
        let acceptor = Rc::clone(&acceptor);
        spawn_local(async move { acceptor.run(&nearby).await });
    }
    acceptor.run(&listener).await;
}

/// Listens for shared memory of this host's clients. Without it they connect over the address.
fn listen_nearby(client: &RecordedClient, door: &Door) -> Option<Listener> {
    let context = client.context();
    let party = Party::Client(context.with_lock(|| context.session_now()));
    let address = std::str::from_utf8(&door.address).ok()?.parse().ok()?;
    let cluster = context.setup().cluster.id.0;
    match Listener::bind_nearby(&address, cluster, party) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%error, "clients of this host connect over TCP");
            None
        }
    }
}

/// Admits clients that address this one, and answers them.
struct Visitors {
    client: Arc<RecordedClient>,
}

impl Visitors {
    fn context(&self) -> &NodeContext {
        self.client.context()
    }
}

impl ConnectionHandler for Visitors {
    fn admit(&self, hello: &Hello) -> Result<Vec<ServerId>, Refusal> {
        let context = self.context();
        let session = context.with_lock(|| context.session_now());
        if hello.to != Party::Client(session) {
            return Err(Refusal::Server);
        }
        if hello.is_secure != context.setup().cluster.secure {
            return Err(Refusal::Security);
        }
        Ok(Vec::new())
    }

    fn connected(&self, channel: Channel, _hello: Hello, slot: ConnectionSlot) {
        let (receiver, sender) = split(channel, self.context().setup().budget.clone());
        let client = Arc::clone(&self.client);
        spawn_local(async move {
            tokio::select! {
                () = answer_all(&client, receiver, &sender) => {}
                error = sender.drive() => tracing::debug!(%error, "a client has gone"),
            }
            drop(slot);
        });
    }

    fn rejected(&self, error: &HandshakeError) {
        tracing::debug!(%error, "a client was refused");
    }
}

/// Answers the requests of one client for as long as it reads the replies.
async fn answer_all(client: &Arc<RecordedClient>, receiver: Receiver, sender: &Arc<Sender>) {
    let under_way = Rc::new(());
    loop {
        sender.room(UNREAD_BYTES_MAX).await;
        let mut frames = Vec::new();
        let ended = receiver.receive(&mut frames).await;
        for frame in frames {
            if !matches!(frame.body, Body::CacheRequest(_)) {
                return tracing::warn!("a client is cut off: a message out of place");
            }
            if Rc::strong_count(&under_way) > UNDER_WAY_MAX {
                return tracing::warn!("a client is cut off: too many requests");
            }
            let (counted, client) = (Rc::clone(&under_way), Arc::clone(client));
            let sender = Arc::clone(sender);
            spawn_local(async move {
                answer(client, sender, frame).await;
                drop(counted);
            });
        }
        if let Err(error) = ended {
            return tracing::debug!(%error, "a client has gone");
        }
    }
}

/// Answers a request, and says meanwhile that the reply is coming.
async fn answer(client: Arc<RecordedClient>, sender: Arc<Sender>, frame: Frame) {
    let Body::CacheRequest(request) = frame.body else {
        return;
    };
    let mut serving = pin!(client.core().serve_cache(request));
    let mut serving = pin!(client.context().poll_with_lock(serving.as_mut()));
    let served = loop {
        match timeout(COMING_AFTER, serving.as_mut()).await {
            Ok(served) => break served,
            Err(_) => reply(&sender, &frame.header, CacheReply::Coming, Payload::empty()),
        }
    };
    let (answer, data) = served.into_message();
    reply(&sender, &frame.header, answer, data);
}

fn reply(sender: &Sender, to: &Header, answer: CacheReply, payload: Payload) {
    let frame = Frame {
        header: Header {
            session: to.session,
            sequence: to.sequence,
            ..Header::new(MessageKind::CacheReply)
        },
        body: Body::CacheReply(answer),
        payload,
    };
    if sender.post(&frame) {
        sender.flush();
    }
}
