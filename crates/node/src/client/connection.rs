//! One connection of a client to a server, from its beginning to its end.

use super::NodeContext;
use futago_base::ServerId;
use futago_transport::{
    HandshakeError, Hello, Receiver, Role, Stream, handshake::introduce, split,
};
use std::time::Duration;
use tokio::time::timeout;

/// A connection that takes longer to make is given up.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Connects, passes messages on until the connection breaks, and reports its end.
pub async fn run(context: NodeContext, server: ServerId) {
    match timeout(CONNECT_MAX, connect(&context, server)).await {
        Ok(Ok(stream)) => {
            let (receiver, sender) = split(stream, context.setup().budget.clone());
            context.connected(server, sender.clone());
            tokio::select! {
                () = read(&context, server, receiver) => {}
                error = sender.drive() => tracing::debug!(%server, %error, "connection lost"),
            }
        }
        // Another program, key or cluster map: to wait does not help.
        Ok(Err(error)) if is_final(&error) => {
            tracing::warn!(%server, %error, "cannot connect");
            return context.refused(server);
        }
        Ok(Err(error)) => tracing::debug!(%server, %error, "cannot connect"),
        Err(_) => tracing::debug!(%server, "cannot connect in time"),
    }
    context.disconnected(server);
}

/// Whether to try again is in vain.
const fn is_final(error: &HandshakeError) -> bool {
    !matches!(
        error,
        HandshakeError::Io(_) | HandshakeError::Deadline | HandshakeError::Full
    )
}

async fn connect(context: &NodeContext, server: ServerId) -> Result<Stream, HandshakeError> {
    let cluster = &context.setup().cluster;
    let entry = cluster.server(server).ok_or(HandshakeError::Server)?;
    let mut stream = Stream::connect(&entry.address).await?;
    let hello = Hello {
        from: Role::Client,
        to: server,
        map_epoch: cluster.epoch,
    };
    introduce(&mut stream, &cluster.key, hello).await?;
    Ok(stream)
}

async fn read(context: &NodeContext, server: ServerId, mut receiver: Receiver) {
    let mut frames = Vec::new();
    loop {
        let ended = receiver.receive(&mut frames).await;
        for frame in frames.drain(..) {
            context.received(server, frame);
        }
        if let Err(error) = ended {
            return tracing::debug!(%server, %error, "connection lost");
        }
    }
}
