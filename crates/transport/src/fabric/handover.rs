//! The move of a connection to the fabric, after the proof of the key over a socket.
//!
//! ```text
//! client -> server   sealed: provider, address of the endpoint, token
//! server -> client   sealed: the same, or why not
//! client -> server   over the fabric: a message without bytes
//! server -> client   over the fabric: a message without bytes
//! ```
//!
//! Both messages over the socket are sealed with the keys of the handshake, because all who know
//! a token can send to its endpoint. The socket stays open: it closes with the other end.

use super::{
    FabricError, FabricStream, Provider,
    endpoint::{ADDRESS_BYTES_MAX, Endpoint},
    wire::{BUFFERS, Token, Wire},
};
use crate::{HandshakeError, Session, Stream, handshake::DEADLINE, session::TAG_BYTES};
use futago_wire::codec;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

/// The longest message over the socket, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;
/// The pause between two looks at the fabric while it connects.
const PAUSE: Duration = Duration::from_micros(200);

/// The end of a connection, for the other end.
#[derive(Serialize, Deserialize)]
struct Offer {
    provider: Provider,
    address: Vec<u8>,
    token: Token,
}

/// An end before it knows the other one.
struct Opened {
    endpoint: Endpoint,
    offer: Offer,
}

impl FabricStream {
    /// Moves a proven connection to the provider's fabric.
    ///
    /// # Errors
    /// [`HandshakeError::Fabric`] names the library or the provider that cannot be used, here or at
    /// the other end.
    pub async fn offer(
        mut stream: Stream,
        session: &mut Session,
        provider: &Provider,
    ) -> Result<Self, HandshakeError> {
        let wire = within_deadline(async {
            let ours = open(&stream, provider)?;
            send(&mut stream, session, &ours.offer).await?;
            let theirs: Result<Offer, String> = receive(&mut stream, session).await?;
            let mut wire = ours.join(theirs.map_err(refused)?)?;
            while !wire.send_head()? {
                wire.progress()?;
                sleep(PAUSE).await;
            }
            hear(&mut wire).await?;
            Ok(wire)
        });
        Ok(Self::new(wire.await?, stream)?)
    }

    /// Moves a connection whose other end offers it.
    ///
    /// # Errors
    /// As [`FabricStream::offer`].
    pub async fn accept(
        mut stream: Stream,
        session: &mut Session,
        provider: Option<&Provider>,
    ) -> Result<Self, HandshakeError> {
        let wire = within_deadline(async {
            let theirs: Offer = receive(&mut stream, session).await?;
            let ours = match answer(&stream, provider, &theirs) {
                Ok(ours) => ours,
                Err(why) => {
                    send(&mut stream, session, &Err::<Offer, _>(&why)).await?;
                    return Err(refused(why));
                }
            };
            send(&mut stream, session, &Ok::<_, String>(&ours.offer)).await?;
            let mut wire = ours.join(theirs)?;
            hear(&mut wire).await?;
            while !wire.send_head()? {
                wire.progress()?;
                sleep(PAUSE).await;
            }
            Ok(wire)
        });
        Ok(Self::new(wire.await?, stream)?)
    }
}

async fn within_deadline(
    wire: impl Future<Output = Result<Wire, HandshakeError>>,
) -> Result<Wire, HandshakeError> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no message came over the fabric");
    timeout(DEADLINE, wire).await.map_err(late)?
}

fn refused(reason: String) -> HandshakeError {
    HandshakeError::Fabric(reason)
}

fn open(stream: &Stream, provider: &Provider) -> Result<Opened, HandshakeError> {
    open_at(local_address(stream)?, provider)
}

fn open_at(local: IpAddr, provider: &Provider) -> Result<Opened, HandshakeError> {
    let failed = |error: FabricError| refused(error.to_string());
    let endpoint = Endpoint::open(provider, Some(local), BUFFERS).map_err(failed)?;
    let mut token = Token::default();
    getrandom::fill(&mut token).map_err(io::Error::other)?;
    let offer = Offer {
        provider: provider.clone(),
        address: endpoint.address()?,
        token,
    };
    Ok(Opened { endpoint, offer })
}

/// The address of this host at which the other end has reached it, or by which it was reached.
fn local_address(stream: &Stream) -> io::Result<IpAddr> {
    match stream {
        Stream::Tcp(socket) => Ok(socket.local_addr()?.ip().to_canonical()),
        Stream::Unix(_) => Ok(Ipv4Addr::LOCALHOST.into()),
    }
}

/// The server's end, or why it has none.
fn answer(stream: &Stream, provider: Option<&Provider>, theirs: &Offer) -> Result<Opened, String> {
    match provider {
        Some(ours) if *ours == theirs.provider => {
            open(stream, ours).map_err(|error| format!("at the server: {error}"))
        }
        Some(ours) => Err(format!("the server's provider is {ours}")),
        None => Err("the server's cluster file names no fabric".into()),
    }
}

impl Opened {
    fn join(self, theirs: Offer) -> Result<Wire, HandshakeError> {
        // Of one provider all addresses have about the same length.
        if theirs.address.is_empty() || theirs.address.len() > ADDRESS_BYTES_MAX {
            return Err(HandshakeError::Stranger);
        }
        let tokens = (self.offer.token, theirs.token);
        let wire = Wire::new(self.endpoint, &theirs.address, tokens.0, tokens.1);
        Ok(wire?)
    }
}

/// Waits for the first message.
async fn hear(wire: &mut Wire) -> io::Result<()> {
    while wire.heard() == 0 {
        wire.progress()?;
        sleep(PAUSE).await;
    }
    Ok(())
}

async fn send(
    stream: &mut Stream,
    session: &mut Session,
    message: &impl Serialize,
) -> io::Result<()> {
    let mut sealed = Vec::new();
    session.sealer.seal(&codec::encode(message), &mut sealed)?;
    let length = (sealed.len() as u16).to_le_bytes();
    stream.write_all(&[&length[..], &sealed].concat()).await
}

async fn receive<T: DeserializeOwned>(
    stream: &mut Stream,
    session: &mut Session,
) -> Result<T, HandshakeError> {
    let mut length = [0; size_of::<u16>()];
    stream.read_exact(&mut length).await?;
    let length = usize::from(u16::from_le_bytes(length));
    if !(TAG_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
        return Err(HandshakeError::Stranger);
    }
    let (mut sealed, mut plain) = (vec![0; length], Vec::new());
    stream.read_exact(&mut sealed).await?;
    session.opener.open(&sealed, &mut plain)?;
    codec::decode(&plain).map_err(|_| HandshakeError::Stranger)
}
