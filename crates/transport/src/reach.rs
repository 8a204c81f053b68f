//! The way to a server: through memory if it is on this host, else over its address.

use crate::{
    Address, Channel, ClusterKey, HandshakeError, Hello, Stream, handshake::introduce,
    shared_memory::MemoryStream,
};
use futago_base::ServerId;
use rustix::process::geteuid;
use std::{io, path::Path, time::Duration};
use tokio::{net::UnixStream, time::timeout};

/// How long a server of this host may take to accept memory; a connection over its address is made
/// then.
const NEARBY_MAX: Duration = Duration::from_secs(1);

/// Connects to a server and proves the key. Returns the servers that messages may be for, too.
///
/// # Errors
/// Those of connecting to its address: that it cannot be reached through memory is no error.
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

/// How often a server has to turn a connection away before that is believed.
const REFUSALS: usize = 3;

/// As [`reach`], but over the address alone.
///
/// # Errors
/// Those of connecting to the address. That the peer has another key is believed only if it says so
/// several times: the first time may have come of damage on the way.
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
                return Ok((Channel::new(stream, session, hello.is_secure), here));
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

/// Whether the listener is this user's or the system's. Anybody may listen where no file's mode
/// guards the name, and keep those waiting who knock there.
fn is_ours(socket: &UnixStream) -> io::Result<bool> {
    let listener = socket.peer_cred()?.uid();
    Ok(listener == 0 || listener == geteuid().as_raw())
}
