//! Returns leases that servers recall.

use super::RecordedClient;
use std::{pin::pin, sync::Arc};
use tokio::task::spawn_local;

/// Answers recalls for as long as the client lives. Recalls are independent: a slow one does not
/// delay others.
pub async fn answer(client: Arc<RecordedClient>) {
    loop {
        for (server, recalls) in client.context().recalled().await {
            let client = Arc::clone(&client);
            spawn_local(async move {
                let answer = pin!(client.recalled(server, recalls));
                client.context().poll_with_lock(answer).await
            });
        }
    }
}
