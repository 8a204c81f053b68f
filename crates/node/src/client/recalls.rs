//! Gives leases back that servers call back.

use super::Client;
use std::{pin::pin, sync::Arc};
use tokio::task::spawn_local;

/// Answers recalls for as long as the client lives. Each is by itself: one that takes long keeps no other one waiting.
pub async fn answer(client: Arc<Client>) {
    loop {
        for recall in client.context().recalled().await {
            let client = Arc::clone(&client);
            spawn_local(async move {
                let answer = pin!(client.recalled(recall));
                client.context().in_turns(answer).await
            });
        }
    }
}
