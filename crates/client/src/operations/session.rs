//! The client's session.

use crate::{Client, Context, join::both, join_all, leases::Leases};
use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};
use futago_base::{Errno, SessionId};
use futago_wire::{Failure, Request};

impl<C: Context> Client<C> {
    /// Does something with what a session holds, such as an open file or a lock. Once that session
    /// is over nothing more of it happens, and it fails with `ESTALE`: what the session held may be
    /// somebody else's.
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

    /// Shows every server that the client lives; due every quarter of the servers' lease.
    /// Errors: `ESTALE` if a server has given up on the session, `EIO` if one cannot be reached.
    pub async fn keep_alive(&self) -> Result<(), Errno> {
        let sends = pin!(async {
            self.give_back_dropped().await;
            self.send_all_unsent().await;
        });
        let told = pin!(self.tell_all(&Request::KeepAlive));
        both(told, sends).await.0
    }

    /// Leaves: every server gives up this client's registrations and locks.
    pub async fn end_session(&self) -> Result<(), Errno> {
        self.send_all_unsent().await;
        let ended = self.tell_all(&Request::EndSession).await;
        self.with_leases(Leases::clear);
        match ended {
            // A copy of the request has arrived before, or the lease was over anyway.
            Err(Errno::ESTALE) => Ok(()),
            result => result,
        }
    }

    /// Tells every server, and returns the first error once all have answered or failed.
    async fn tell_all(&self, request: &Request) -> Result<(), Errno> {
        let servers = self.map().servers();
        let told = servers.map(|server| self.ask(server, request.clone()));
        let told = join_all(told).await.into_iter();
        let results = told.map(|answer| match answer {
            Ok(_) => Ok(()),
            Err(Failure::SessionExpired) => Err(Errno::ESTALE),
            Err(Failure::Errno(errno)) => Err(errno),
            Err(_) => Err(Errno::EIO),
        });
        results.collect()
    }
}
