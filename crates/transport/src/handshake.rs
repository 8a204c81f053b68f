//! Mutual proof of the cluster key, before anything else is read or served.
//!
//! The proof is the Noise handshake `NNpsk0` (Perrin, The Noise Protocol Framework, revision 34).
//! The key is mixed into the first message, so that the first bytes of a stranger already fail.
//! Both sides draw fresh keys, so that a recorded reply cannot be replayed. No long-lived
//! identities are needed, because a cluster is one trust domain. The plain-text preamble (magic,
//! version) is the handshake's prologue: changing it breaks the proof.
//!
//! ```text
//! client -> server   "FTGO" version  0       length   Noise message 1 (from, to, map epoch)
//! server -> client   "FTGO" version  verdict length   Noise message 2 (which servers are here)
//! client -> server                            16 bytes under the new key: the first message is not
//!                                             a replay
//! ```
//!
//! Afterwards, TCP connections of a secure cluster continue under the keys of the handshake
//! ([`secure`](crate::secure)). Other streams are neither encrypted nor authenticated. Checksums
//! detect damage only: an attacker who can change packets on the wire can take over a proven
//! connection. Both sides must agree on security.

use crate::{ClusterKey, Session, session::TAG_BYTES};
use futago_base::{ServerId, SessionId};
use futago_wire::codec;
use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState};
use std::{fmt, io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const MAGIC: [u8; 4] = *b"FTGO";
/// Magic, version, verdict, reserved byte, length of the message.
const PREAMBLE_BYTES: usize = 10;
/// The longest accepted Noise message, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;
/// The most servers that may share connections, limited by the size of one message.
pub const SERVERS_MAX: usize = 256;
/// An empty message under the new key is its authentication tag.
const CONFIRMATION_BYTES: usize = TAG_BYTES;
/// How long a peer may take to prove the key.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The role of the connecting process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A client.
    Client,
    /// A server of the cluster.
    Server(ServerId),
}

/// A party that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Party {
    /// A server of the cluster.
    Server(ServerId),
    /// A client that shares its cache.
    Client(SessionId),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) => write!(f, "{}", server.0),
            Self::Client(session) => write!(f, "client-{:016x}", session.0),
        }
    }
}

/// The claims of the connecting side, protected by the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its role.
    pub from: Role,
    /// The party that it addresses.
    pub to: Party,
    /// The version of its cluster map, for logs: servers move from process to process, and a peer
    /// with an older map finds those that have not moved.
    pub map_epoch: u32,
    /// The way in which messages go on afterwards.
    pub continues: Continuation,
    /// Whether its cluster encrypts TCP.
    pub is_secure: bool,
}

/// The way in which messages go on after the proof of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Continuation {
    /// Over the same socket.
    Socket,
    /// Through shared memory, which the connecting side hands over next.
    Memory,
    /// Over a fabric, whose addresses are exchanged next.
    Fabric,
}

/// The reason why a server rejects a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The peer uses another version of the protocol.
    Version,
    /// The key is not the cluster's.
    Key,
    /// The party that the peer addresses is not here; a server may have moved.
    Server,
    /// The server has reached its limit of connections.
    Full,
    /// One side encrypts, and the other does not.
    Security,
}

impl Refusal {
    const ALL: [Self; 5] = [
        Self::Version,
        Self::Key,
        Self::Server,
        Self::Full,
        Self::Security,
    ];

    const fn verdict(self) -> u8 {
        self as u8 + 1
    }
}

/// The reason why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The connection broke.
    #[error("the connection broke during the handshake: {0}")]
    Io(#[from] io::Error),
    /// The peer exceeded the deadline.
    #[error("the peer did not prove the cluster key within {} s", DEADLINE.as_secs())]
    Deadline,
    /// The peer does not speak the protocol.
    #[error("the peer is not a Futago program")]
    Stranger,
    /// The peer is a Futago of another version.
    #[error(
        "the peer speaks protocol version {theirs}, this program {}",
        codec::VERSION
    )]
    Version {
        /// The peer's version.
        theirs: u16,
    },
    /// The keys differ.
    #[error("the peer does not have this cluster's key; is its cluster file from another cluster?")]
    Key,
    /// The addressed server is not there; it may have moved.
    #[error("the address belongs to another server of the cluster than the cluster file says")]
    Server,
    /// The server has reached its limit of connections.
    #[error("the server has as many connections as it may have")]
    Full,
    /// One side encrypts, and the other does not.
    #[error(
        "one side's cluster file says that connections are encrypted (secure = true), the other's does not; take the file that futago up has written last"
    )]
    Security,
    /// The fabric of the cluster cannot be used.
    #[error("the fabric cannot be used: {0}")]
    Fabric(String),
}

impl HandshakeError {
    /// Whether damaged bytes may be the cause. The first bytes of a connection are protected only
    /// by the proof, which fails in the same way under another key.
    pub const fn may_be_damage(&self) -> bool {
        matches!(
            self,
            Self::Stranger | Self::Version { .. } | Self::Key | Self::Server | Self::Security
        )
    }
}

impl From<snow::Error> for HandshakeError {
    /// With well-formed parameters, the only possible failure is a message under another key.
    fn from(_: snow::Error) -> Self {
        Self::Key
    }
}

impl From<Refusal> for HandshakeError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Version => Self::Version { theirs: 0 },
            Refusal::Key => Self::Key,
            Refusal::Server => Self::Server,
            Refusal::Full => Self::Full,
            Refusal::Security => Self::Security,
        }
    }
}

/// Proves the key to the server at the other end, and verifies the server's proof. Returns the
/// servers that messages on the connection may address, and the session keys.
pub async fn introduce<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(Vec<ServerId>, Session), HandshakeError> {
    timeout(DEADLINE, introduce_without_deadline(stream, key, hello))
        .await
        .map_err(|_| HandshakeError::Deadline)?
}

async fn introduce_without_deadline<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(Vec<ServerId>, Session), HandshakeError> {
    let mut noise = builder(key)?.build_initiator()?;
    let mut message = [0; MESSAGE_BYTES_MAX];
    let length = noise.write_message(&codec::encode(&hello), &mut message)?;
    send(stream, codec::VERSION, 0, &message[..length]).await?;
    let (preamble, answer) = receive(stream).await?;
    if preamble.version != codec::VERSION {
        let theirs = preamble.version;
        return Err(HandshakeError::Version { theirs });
    }
    if let Some(refusal) = Refusal::ALL
        .into_iter()
        .find(|refusal| refusal.verdict() == preamble.verdict)
    {
        return Err(refusal.into());
    }
    let length = noise.read_message(&answer, &mut message)?;
    let here = codec::decode(&message[..length]).map_err(|_| HandshakeError::Stranger)?;
    let mut session = Session::new(noise)?;
    let mut confirmation = Vec::new();
    session.sealer.seal(&[], &mut confirmation)?;
    stream.write_all(&confirmation).await?;
    Ok((here, session))
}

/// Verifies the client's proof of the key, then proves the key.
///
/// `admit` decides about the client's claims. It returns the servers that messages on the
/// connection may address, at most [`SERVERS_MAX`]. The result includes the session keys.
pub async fn welcome<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    admit: impl FnOnce(&Hello) -> Result<Vec<ServerId>, Refusal>,
) -> Result<(Hello, Session), HandshakeError> {
    timeout(DEADLINE, welcome_without_deadline(stream, key, admit))
        .await
        .map_err(|_| HandshakeError::Deadline)?
}

async fn welcome_without_deadline<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    admit: impl FnOnce(&Hello) -> Result<Vec<ServerId>, Refusal>,
) -> Result<(Hello, Session), HandshakeError> {
    let (preamble, first) = receive(stream).await?;
    if preamble.version != codec::VERSION {
        refuse(stream, Refusal::Version).await?;
        let theirs = preamble.version;
        return Err(HandshakeError::Version { theirs });
    }
    let mut noise = builder(key)?.build_responder()?;
    let (hello, here) = match read_hello(&mut noise, &first).and_then(|hello| {
        let here = admit(&hello)?;
        Ok((hello, here))
    }) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            refuse(stream, refusal).await?;
            return Err(refusal.into());
        }
    };
    let mut message = [0; MESSAGE_BYTES_MAX];
    let length = noise.write_message(&codec::encode(&here), &mut message)?;
    send(stream, codec::VERSION, 0, &message[..length]).await?;
    let mut confirmation = [0; CONFIRMATION_BYTES];
    stream.read_exact(&mut confirmation).await?;
    let mut session = Session::new(noise)?;
    let confirmed = session.opener.open(&confirmation, &mut Vec::new());
    confirmed.map_err(|_| HandshakeError::Key)?;
    Ok((hello, session))
}

fn builder(key: &ClusterKey) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?)
        .psk(0, key.bytes())?
        .prologue(&PROLOGUE)
}

const PROLOGUE: [u8; 6] = {
    let [a, b, c, d] = MAGIC;
    let [low, high] = codec::VERSION.to_le_bytes();
    [a, b, c, d, low, high]
};

fn read_hello(noise: &mut HandshakeState, message: &[u8]) -> Result<Hello, Refusal> {
    let mut payload = [0; MESSAGE_BYTES_MAX];
    let length = noise
        .read_message(message, &mut payload)
        .map_err(|_| Refusal::Key)?;
    codec::decode(&payload[..length]).map_err(|_| Refusal::Version)
}

struct Preamble {
    version: u16,
    verdict: u8,
}

async fn send<S: AsyncWrite + Unpin>(
    stream: &mut S,
    version: u16,
    verdict: u8,
    message: &[u8],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(PREAMBLE_BYTES + message.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&[verdict, 0]);
    bytes.extend_from_slice(&(message.len() as u16).to_le_bytes());
    bytes.extend_from_slice(message);
    stream.write_all(&bytes).await
}

/// Sends the client the reason of the rejection. The shutdown delivers it before the connection
/// closes.
async fn refuse<S: AsyncWrite + Unpin>(stream: &mut S, refusal: Refusal) -> io::Result<()> {
    send(stream, codec::VERSION, refusal.verdict(), &[]).await?;
    stream.shutdown().await
}

async fn receive<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Result<(Preamble, Vec<u8>), HandshakeError> {
    let mut bytes = [0; PREAMBLE_BYTES];
    stream.read_exact(&mut bytes).await?;
    let [a, b, c, d, version_low, version_high, verdict, _, low, high] = bytes;
    let length = usize::from(u16::from_le_bytes([low, high]));
    if [a, b, c, d] != MAGIC || length > MESSAGE_BYTES_MAX {
        return Err(HandshakeError::Stranger);
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    let preamble = Preamble {
        version: u16::from_le_bytes([version_low, version_high]),
        verdict,
    };
    Ok((preamble, message))
}
