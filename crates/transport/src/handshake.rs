//! Proof of the cluster key, both ways, before anything else is read or served.
//!
//! The proof is the Noise handshake `NNpsk0` (Perrin, The Noise Protocol Framework, revision 34):
//! the key is mixed into the first message, so that a stranger's first bytes already fail, and both
//! sides draw fresh keys, so that an answer cannot be recorded and played back. No long-lived
//! identities are needed, because a cluster is one domain of trust. What is said in the clear before
//! (magic, version) is the handshake's prologue: who changes it breaks the proof.
//!
//! ```text
//! client -> server   "FTGO" version  0       length   Noise message 1 (who, whom, map epoch)
//! server -> client   "FTGO" version  verdict length   Noise message 2 (which servers are here)
//! client -> server                            16 bytes under the new key: the first message was not
//!                                             a replay
//! ```
//!
//! After it, TCP connections of a secure cluster go on under the keys of the handshake
//! ([`secure`](crate::secure)). Other streams are neither encrypted nor authenticated: every
//! message has a checksum against damage, and an attacker who can change packets on the wire can
//! take over a proven connection. Both sides must want the same.

use crate::{ClusterKey, Session, session::TAG_BYTES};
use futago_base::ServerId;
use futago_wire::codec;
use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const MAGIC: [u8; 4] = *b"FTGO";
/// Magic, version, verdict, reserved byte, length of what follows.
const PREAMBLE_BYTES: usize = 10;
/// The longest Noise message that is read, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;
/// How many servers may share their connections: as many as one message can name.
pub const SERVERS_MAX: usize = 256;
/// An empty message under the new key is its authentication tag.
const CONFIRMATION_BYTES: usize = TAG_BYTES;
/// How long a peer may take to prove the key.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A client.
    Client,
    /// A server of the cluster.
    Server(ServerId),
}

/// What the connecting side says of itself under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Who connects.
    pub from: Role,
    /// Whom it wants to reach.
    pub to: ServerId,
    /// The version of its cluster map.
    pub map_epoch: u32,
    /// Whether it hands over memory to talk through, next.
    pub hands_over_memory: bool,
    /// Whether its cluster encrypts what goes over TCP.
    pub is_secure: bool,
}

/// Why a server turns a connection away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It speaks another version of the protocol.
    Version,
    /// The key is not the cluster's.
    Key,
    /// It is another server than the one that was meant.
    Server,
    /// It has another version of the cluster map.
    Epoch,
    /// It has as many connections as it may have.
    Full,
    /// One side encrypts, and the other does not.
    Security,
}

impl Refusal {
    const ALL: [Self; 6] = [
        Self::Version,
        Self::Key,
        Self::Server,
        Self::Epoch,
        Self::Full,
        Self::Security,
    ];

    const fn verdict(self) -> u8 {
        self as u8 + 1
    }
}

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The connection broke.
    #[error("the connection broke during the handshake: {0}")]
    Io(#[from] io::Error),
    /// The peer took too long.
    #[error("the peer did not prove the cluster key within {} s", DEADLINE.as_secs())]
    Deadline,
    /// The peer is something else.
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
    /// The client means another server.
    #[error("the address belongs to another server of the cluster than the cluster file says")]
    Server,
    /// The cluster maps differ.
    #[error("the peer has another version of the cluster map; is its cluster file old?")]
    Epoch,
    /// The server has no room.
    #[error("the server has as many connections as it may have")]
    Full,
    /// One side encrypts, and the other does not.
    #[error(
        "one side's cluster file says that connections are encrypted (secure = true), the other's does not; take the file that futago up has written last"
    )]
    Security,
}

impl HandshakeError {
    /// Whether bytes that were damaged on the way may be the cause. Nothing guards the first ones
    /// of a connection but the proof itself, which fails under another key in the same way.
    pub const fn may_be_damage(&self) -> bool {
        matches!(
            self,
            Self::Stranger
                | Self::Version { .. }
                | Self::Key
                | Self::Server
                | Self::Epoch
                | Self::Security
        )
    }
}

impl From<snow::Error> for HandshakeError {
    /// All that can go wrong with well-formed parameters is a message under another key.
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
            Refusal::Epoch => Self::Epoch,
            Refusal::Full => Self::Full,
            Refusal::Security => Self::Security,
        }
    }
}

/// Proves the key to the server at the other end, and has it proven. Returns the servers that messages on the connection
/// may be for, and the keys of what follows.
pub async fn introduce<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(Vec<ServerId>, Session), HandshakeError> {
    timeout(DEADLINE, introduce_patiently(stream, key, hello))
        .await
        .map_err(|_| HandshakeError::Deadline)?
}

async fn introduce_patiently<S: AsyncRead + AsyncWrite + Unpin>(
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

/// Lets the client at the other end prove the key, proves it in turn, and says who it is. `admit`
/// decides about a client that says who it is and whom it means, and tells which servers messages on the connection may be
/// for, at most [`SERVERS_MAX`]. Returns the keys of what follows, too.
pub async fn welcome<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    admit: impl FnOnce(&Hello) -> Result<Vec<ServerId>, Refusal>,
) -> Result<(Hello, Session), HandshakeError> {
    timeout(DEADLINE, welcome_patiently(stream, key, admit))
        .await
        .map_err(|_| HandshakeError::Deadline)?
}

async fn welcome_patiently<S: AsyncRead + AsyncWrite + Unpin>(
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

/// Tells the client why it is turned away, and takes what it sends along, so that the answer is not
/// lost with the connection.
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
