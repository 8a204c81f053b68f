//! The way to a server: through memory if it is on this host, else over its address.

use crate::{
    Address, Channel, ClusterKey, HandshakeError, Hello, Stream, handshake::introduce,
    shared_memory::MemoryStream,
};
use rustix::process::geteuid;
use std::{io, path::Path, time::Duration};
use tokio::{net::UnixStream, time::timeout};

/// How long a server of this host may take to accept memory; a connection over its address is made
/// then.
const NEARBY_MAX: Duration = Duration::from_secs(1);

/// Connects to a server and proves the key.
///
/// # Errors
/// Those of connecting to its address: that it cannot be reached through memory is no error.
pub async fn reach(
    address: &Address,
    cluster: u64,
    key: &ClusterKey,
    hello: Hello,
) -> Result<Channel, HandshakeError> {
    if let Some(door) = address.nearby(cluster, hello.to)
        && let Ok(Ok(stream)) = timeout(NEARBY_MAX, reach_nearby(&door, key, hello)).await
    {
        return Ok(stream.into());
    }
    let mut stream = Stream::connect(address).await?;
    introduce(&mut stream, key, hello).await?;
    Ok(stream.into())
}

async fn reach_nearby(
    door: &Path,
    key: &ClusterKey,
    hello: Hello,
) -> Result<MemoryStream, HandshakeError> {
    let mut socket = UnixStream::connect(door).await?;
    if !is_ours(&socket)? {
        return Err(HandshakeError::Stranger);
    }
    let hello = Hello {
        hands_over_memory: true,
        ..hello
    };
    introduce(&mut socket, key, hello).await?;
    Ok(MemoryStream::offer(socket).await?)
}

/// Whether the listener is this user's or the system's. Anybody may listen where no file's mode
/// guards the name, and keep those waiting who knock there.
fn is_ours(socket: &UnixStream) -> io::Result<bool> {
    let listener = socket.peer_cred()?.uid();
    Ok(listener == 0 || listener == geteuid().as_raw())
}
