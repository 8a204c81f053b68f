//! Connects to a server, or to a client that shares its cache: through shared memory if it is on
//! this host, else over its address.

use crate::{
    Address, Channel, ClusterKey, HandshakeError, Hello, Party, Role, Stream, handshake::introduce,
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
/// address.
///
/// # Errors
/// The errors of connecting to its address. A failure to connect through shared memory is no error.
pub async fn reach(
    address: &Address,
    cluster: u64,
    key: &ClusterKey,
    hello: Hello,
) -> Result<(Channel, Vec<ServerId>), HandshakeError> {
    if let Some(door) = address.nearby(cluster, hello.to)
        && let Ok(Ok((stream, here))) = timeout(NEARBY_MAX, reach_nearby(&door, key, hello)).await
    {
        return Ok((stream.into(), here));
    }
    reach_address(address, key, hello).await
}

/// The number of rejections after which a rejection is believed.
const REFUSALS: usize = 3;

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
    let mut refusals = 0;
    loop {
        let mut stream = Stream::connect(address).await?;
        match introduce(&mut stream, key, hello).await {
            Ok((here, session)) => {
                // The threads of a client wait for replies of servers; those of a server never do.
                let led = hello.from == Role::Client && matches!(hello.to, Party::Server(_));
                let channel = Channel::new(stream, session, hello.is_secure, led)?;
                return Ok((channel, here));
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
        hands_over_memory: true,
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
