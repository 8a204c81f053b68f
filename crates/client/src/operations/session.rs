//! The session of the client.

use crate::{Client, Context, join::both, join_all, leases::Leases};
use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};
use futago_base::{Errno, SessionId};
use futago_wire::{Failure, Request};

impl<C: Context> Client<C> {
    /// Runs an operation on resources of a session, such as an open file or a lock. Once the
    /// session has ended the operation stops with `ESTALE`, because another client may own the
    /// resources.
    pub async fn in_session<T>(
        &self,
        session: SessionId,
        mut operation: Pin<&mut impl Future<Output = Result<T, Errno>>>,
    ) -> Result<T, Errno> {
        poll_fn(|task| {
            if self.context().session() != session {
                return Poll::Ready(Err(Errno::ESTALE));
            }
            operation.as_mut().poll(task)
        })
        .await
    }

    /// Shows every server that the client is alive, and writes back meanwhile; due every quarter of
    /// the lease of the servers. Errors: `ESTALE` if a server has ended the session, `EIO` if one
    /// cannot be reached.
    pub async fn keep_alive(&self) -> Result<(), Errno> {
        self.drop_spare();
        let sends = pin!(async {
            self.register_relayed_opens().await;
            self.return_dropped_leases().await;
            self.announce_cache().await;
            self.flush_all().await;
        });
        let alive = pin!(self.ask_all(&Request::KeepAlive));
        both(alive, sends).await.0
    }

    /// Ends the session: every server releases its opens, locks and leases.
    pub async fn end_session(&self) -> Result<(), Errno> {
        self.flush_all().await;
        let ended = self.ask_all(&Request::EndSession).await;
        self.with_leases(Leases::clear);
        match ended {
            // A copy of the request has arrived before, or the session has expired.
            Err(Errno::ESTALE) => Ok(()),
            result => result,
        }
    }

    /// Sends a request to every server. Returns the first error once all have replied or failed.
    async fn ask_all(&self, request: &Request) -> Result<(), Errno> {
        let servers = self.map().servers();
        let replies = servers.map(|server| self.ask(server, request.clone()));
        let replies = join_all(replies).await.into_iter();
        let results = replies.map(|answer| match answer {
            Ok(_) => Ok(()),
            Err(Failure::SessionExpired) => Err(Errno::ESTALE),
            Err(Failure::Errno(errno)) => Err(errno),
            Err(_) => Err(Errno::EIO),
        });
        results.collect()
    }
}
