//! One connection of a client to a server, from its start to its end.

use super::{NodeContext, locating};
use futago_base::ServerId;
use futago_transport::{
    Channel, Continuation, HandshakeError, Hello, Party, Receiver, Role, reach, split,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// The longest time for connecting.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Connects, passes messages on until the connection breaks, and reports its end. Servers that
/// share another connection are not connected separately.
pub async fn run(context: NodeContext, server: ServerId) {
    match timeout(CONNECT_MAX, connect(&context, server)).await {
        Ok(Ok((channel, here))) => {
            let (receiver, sender) = split(channel, context.setup().budget.clone());
            let receiver = Arc::new(receiver);
            if context.connected(server, &here, &receiver, &sender) {
                tokio::select! {
                    () = read(&context, server, &receiver) => {}
                    error = sender.drive() => tracing::debug!(%server, %error, "connection lost"),
                }
                context.lost(&sender);
            }
            return;
        }
        // The server is another program, or has another key: retrying cannot succeed, unless that
        // program has the address of a server that has moved.
        Ok(Err(error)) if is_final(&error) && !has_moved(&context, server).await => {
            tracing::warn!(%server, %error, "cannot connect");
            return context.refused(server);
        }
        Ok(Err(error)) => tracing::debug!(%server, %error, "cannot connect"),
        Err(_) => tracing::debug!(%server, "cannot connect in time"),
    }
    // It may have moved.
    locating::run(&context, server).await;
    context.not_connected(server);
}

/// Whether a server is elsewhere.
async fn has_moved(context: &NodeContext, server: ServerId) -> bool {
    let locations = &context.setup().locations;
    let before = locations.of(server).map(|at| at.address);
    locating::run(context, server).await;
    before != locations.of(server).map(|at| at.address)
}

/// Whether a retry cannot succeed.
const fn is_final(error: &HandshakeError) -> bool {
    !matches!(
        error,
        HandshakeError::Io(_)
            | HandshakeError::Deadline
            | HandshakeError::Full
            | HandshakeError::Server
    )
}

async fn connect(
    context: &NodeContext,
    server: ServerId,
) -> Result<(Channel, Vec<ServerId>), HandshakeError> {
    let cluster = &context.setup().cluster;
    let location = context.setup().locations.of(server);
    let location = location.ok_or(HandshakeError::Server)?;
    let hello = Hello {
        from: Role::Client,
        to: Party::Server(server),
        map_epoch: location.epoch,
        continues: Continuation::Socket,
        is_secure: cluster.secure,
    };
    let fabric = cluster.fabric.as_ref();
    reach(&location.address, cluster.id.0, &cluster.key, fabric, hello).await
}

async fn read(context: &NodeContext, server: ServerId, receiver: &Receiver) {
    let mut frames = Vec::new();
    loop {
        let ended = receiver.receive(&mut frames).await;
        for frame in frames.drain(..) {
            context.received(frame);
        }
        if let Err(error) = ended {
            return tracing::debug!(%server, %error, "connection lost");
        }
    }
}
