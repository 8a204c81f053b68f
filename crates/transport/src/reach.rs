//! Connects to a server, or to a client that shares its cache: over the cluster's fabric if it has
//! one, else through shared memory if it is on this host, else over its address.

use crate::{
    Address, Channel, ClusterKey, HandshakeError, Hello, Party, Role, Session, Stream,
    fabric::{FabricStream, Provider},
    handshake::{Continuation, introduce},
    shared_memory::MemoryStream,
};
use futago_base::ServerId;
use rustix::process::geteuid;
use std::{io, path::Path, time::Duration};
use tokio::{net::UnixStream, time::timeout};

/// How long a server of this host may take to accept shared memory before its address is used
/// instead.
const NEARBY_MAX: Duration = Duration::from_secs(1);

/// Connects to a party and proves the key. Returns the channel and the servers that messages may
/// address. In a cluster with a fabric, all messages go over it.
///
/// # Errors
/// The errors of connecting to its address. A failure to connect through shared memory is no error.
pub async fn reach(
    address: &Address,
    cluster: u64,
    key: &ClusterKey,
    fabric: Option<&Provider>,
    hello: Hello,
) -> Result<(Channel, Vec<ServerId>), HandshakeError> {
    if let Some(provider) = fabric {
        return reach_over_fabric(address, key, provider, hello).await;
    }
    if let Some(door) = address.nearby(cluster, hello.to)
        && let Ok(Ok((stream, here))) = timeout(NEARBY_MAX, reach_nearby(&door, key, hello)).await
    {
        return Ok((stream.into(), here));
    }
    reach_address(address, key, hello).await
}

/// As [`reach`], but only over the address.
///
/// # Errors
/// The errors of connecting to the address. A mismatch of keys is reported only after several
/// attempts, because the first one may have been caused by damage in transit.
pub async fn reach_address(
    address: &Address,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(Channel, Vec<ServerId>), HandshakeError> {
    let proven = prove(address, key, hello).await?;
    // The threads of a client wait for replies of servers; those of a server never do.
    let led = hello.from == Role::Client && matches!(hello.to, Party::Server(_));
    let channel = Channel::new(proven.stream, proven.session, hello.is_secure, led)?;
    Ok((channel, proven.here))
}

/// As [`reach`], but only over the fabric.
///
/// # Errors
/// As [`reach_address`]; [`HandshakeError::Fabric`] if the fabric cannot be used here or there.
pub async fn reach_over_fabric(
    address: &Address,
    key: &ClusterKey,
    provider: &Provider,
    hello: Hello,
) -> Result<(Channel, Vec<ServerId>), HandshakeError> {
    let hello = Hello {
        continues: Continuation::Fabric,
        ..hello
    };
    let mut proven = prove(address, key, hello).await?;
    let moved = FabricStream::offer(proven.stream, &mut proven.session, provider).await?;
    let channel = Channel::over_fabric(moved, proven.session, hello.is_secure);
    Ok((channel, proven.here))
}

/// A socket on which both sides have proven the key.
struct Proven {
    stream: Stream,
    session: Session,
    /// The servers that messages may address.
    here: Vec<ServerId>,
}

/// The number of rejections after which a rejection is believed.
const REFUSALS: usize = 3;

async fn prove(
    address: &Address,
    key: &ClusterKey,
    hello: Hello,
) -> Result<Proven, HandshakeError> {
    let mut refusals = 0;
    loop {
        let mut stream = Stream::connect(address).await?;
        match introduce(&mut stream, key, hello).await {
            Ok((here, session)) => {
                return Ok(Proven {
                    stream,
                    session,
                    here,
                });
            }
            Err(error) => {
                refusals += 1;
                if !error.may_be_damage() || refusals == REFUSALS {
                    return Err(error);
                }
            }
        }
    }
}

async fn reach_nearby(
    door: &Path,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(MemoryStream, Vec<ServerId>), HandshakeError> {
    let mut socket = UnixStream::connect(door).await?;
    if !is_ours(&socket)? {
        return Err(HandshakeError::Stranger);
    }
    let hello = Hello {
        continues: Continuation::Memory,
        ..hello
    };
    let (here, _) = introduce(&mut socket, key, hello).await?;
    Ok((MemoryStream::offer(socket).await?, here))
}

/// Whether the listener belongs to this user or to root. Abstract names have no file mode, so any
/// user may listen there and stall the clients that connect.
fn is_ours(socket: &UnixStream) -> io::Result<bool> {
    let listener = socket.peer_cred()?.uid();
    Ok(listener == 0 || listener == geteuid().as_raw())
}
