//! The clients that share their caches, as commands see them.

use crate::{connection::Connection, output};
use anyhow::anyhow;
use futago_client::{Context as _, first_of};
use futago_wire::{CacheReply, CacheRequest, Holder, SharingCounters};
use serde::Serialize;
use std::{pin::pin, sync::Arc, thread, time::Duration};

/// A client and its counters.
#[derive(Debug, Serialize)]
pub struct ClientRow {
    /// Its session, in hexadecimal.
    pub client: String,
    /// Where it listens for other clients.
    pub address: String,
    /// Its counters; none if it does not answer.
    #[serde(flatten)]
    pub counters: Option<SharingCounters>,
}

/// All clients that share their caches.
pub struct Caches<'a> {
    connection: &'a Connection,
    clients: Vec<Arc<Holder>>,
}

impl<'a> Caches<'a> {
    /// Asks who they are.
    ///
    /// # Errors
    /// A server does not answer.
    pub fn of(connection: &'a Connection) -> anyhow::Result<Self> {
        let what = || "clients that share their caches".to_owned();
        let clients = connection.run(what, async |client| client.sharers().await)?;
        let clients = clients.into_iter().map(Arc::new).collect();
        Ok(Self {
            connection,
            clients,
        })
    }

    /// The clients.
    pub fn clients(&self) -> &[Arc<Holder>] {
        &self.clients
    }

    /// Only the first ones.
    pub fn truncate(&mut self, most: usize) {
        self.clients.truncate(most);
    }

    /// Asks all clients side by side. The results are in their order.
    pub fn each<T: Send>(&self, ask: impl Fn(&Arc<Holder>) -> T + Sync) -> Vec<T> {
        let ask = &ask;
        thread::scope(|scope| {
            let asking = self.clients.iter();
            let asking: Vec<_> = asking
                .map(|client| scope.spawn(move || ask(client)))
                .collect();
            let replies = asking.into_iter().map(|thread| thread.join());
            replies.filter_map(Result::ok).collect()
        })
    }

    /// Asks one client, for a limited time.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ask(
        &self,
        client: &Arc<Holder>,
        request: CacheRequest,
        limit: Duration,
    ) -> anyhow::Result<CacheReply> {
        let limit = futago_base::Duration(limit.as_nanos() as u64);
        let to = Arc::clone(client);
        let answer = self.connection.run(String::new, async |asking| {
            let context = asking.context();
            let answer = pin!(context.ask_client(to, request));
            let silence = pin!(context.sleep(limit));
            Ok(first_of(answer, silence).await.flatten())
        })?;
        let (reply, _) = answer.ok_or_else(|| anyhow!("{}: no answer", name_of(client)))?;
        Ok(reply)
    }

    /// The counters of each of them.
    pub fn rows(&self, limit: Duration) -> Vec<ClientRow> {
        self.each(|client| {
            let counters = match self.ask(client, CacheRequest::GetCounters, limit) {
                Ok(CacheReply::Counters(counters)) => Some(counters),
                _ => None,
            };
            ClientRow {
                client: format!("{:016x}", client.session.0),
                address: String::from_utf8_lossy(&client.door.address).into_owned(),
                counters,
            }
        })
    }
}

const TITLES: [&str; 8] = [
    "CLIENT",
    "FROM SERVERS",
    "FROM CLIENTS",
    "SENT",
    "ASKED",
    "SERVED",
    "MISSED",
    "ADDRESS",
];

/// The rows, for people.
pub fn text(rows: &[ClientRow]) -> String {
    let cells = |row: &ClientRow| {
        let counters = row.counters.as_ref().map(|it| {
            let sizes = [it.bytes_from_servers, it.bytes_from_peers, it.bytes_served];
            let numbers = [it.asked, it.served, it.missed];
            let sizes = sizes.map(output::size).into_iter();
            sizes
                .chain(numbers.map(|number| number.to_string()))
                .collect()
        });
        let counters = counters.unwrap_or_else(|| vec!["?".to_owned(); TITLES.len() - 2]);
        let mut cells = vec![row.client.clone()];
        cells.extend::<Vec<String>>(counters);
        cells.push(row.address.clone());
        cells
    };
    output::table(
        &TITLES,
        &[1, 2, 3, 4, 5, 6],
        rows.iter().map(cells).collect(),
    )
}

/// A client, for people.
pub fn name_of(client: &Holder) -> String {
    let address = String::from_utf8_lossy(&client.door.address);
    format!("client {:016x} at {address}", client.session.0)
}
