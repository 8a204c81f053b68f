//! Releases of locks that no caller asks for: at a close, or for a caller that is gone.

use crate::call::Call;
use crate::lock_notes::Holder;
use futago_base::record::LockRange;
use futago_base::{Duration, Errno, FileId, SessionId};
use futago_client::Context;
use futago_node::RecordedClient;
use futago_wire::LockChange;
use std::pin::pin;
use std::sync::Arc;

/// The pause before a failed release is repeated.
const REPEAT_PAUSE: Duration = Duration::from_secs(1);

/// Releases all locks of a holder.
///
/// # Errors
/// As [`release`].
pub async fn release_all(call: &Call, holder: Holder) -> Result<(), Errno> {
    let all = LockChange {
        space: holder.space,
        kind: None,
        owner: holder.owner,
        range: LockRange {
            start: 0,
            end: u64::MAX,
        },
        pid: 0,
    };
    release(call, holder, all).await
}

/// Releases locks of a holder. A release that fails is repeated in the background, because nobody
/// else would release the locks before the session ends. The holder is unsettled meanwhile.
///
/// # Errors
/// Those of the first attempt.
pub async fn release(call: &Call, holder: Holder, unlock: LockChange) -> Result<(), Errno> {
    let session = call.client.context().session();
    let released = try_release(&call.client, session, holder.file, unlock).await;
    if is_unknown(released) {
        tracing::debug!(?holder, "cannot release locks yet");
        call.shared.locks.let_go(holder);
        repeat(call, session, holder, unlock);
    }
    released
}

fn repeat(call: &Call, session: SessionId, holder: Holder, unlock: LockChange) {
    let (shared, client) = (Arc::clone(&call.shared), Arc::clone(&call.client));
    call.shared.starter.spawn(async move {
        let context = client.context();
        loop {
            context.sleep(REPEAT_PAUSE).await;
            let release = pin!(try_release(&client, session, holder.file, unlock));
            if !is_unknown(context.poll_with_lock(release).await) {
                return shared.locks.settle(holder);
            }
        }
    });
}

/// In the session that took the locks: they end with it.
async fn try_release(
    client: &RecordedClient,
    session: SessionId,
    file: FileId,
    unlock: LockChange,
) -> Result<(), Errno> {
    let release = pin!(client.set_lock(file, unlock, None));
    client.in_session(session, release).await
}

/// Whether the holder may still have the locks: all errors but those of an overload or a server
/// that cannot be reached are final.
const fn is_unknown(released: Result<(), Errno>) -> bool {
    matches!(released, Err(Errno::EIO | Errno::EBUSY))
}
