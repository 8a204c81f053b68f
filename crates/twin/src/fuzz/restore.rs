//! A client that brings the data of released files.

use super::perform::filled;
use crate::cluster::SimulatedContext;
use crate::model::released_tag;
use futago_base::{Duration, Errno, FileId, ServerId};
use futago_client::{Client, Context};
use futago_wire::Restored;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

/// How long it waits before it asks the servers again.
const PAUSE: Duration = Duration::from_millis(20);

/// The restorations that are under way.
type Restoring = Vec<Pin<Box<dyn Future<Output = Restored>>>>;

/// Restores wanted files of a server for ever. Restorations do not keep it from asking.
pub(super) async fn serve(core: Rc<Client<SimulatedContext>>, server: ServerId) {
    let (mut restoring, mut ended) = (Restoring::new(), Vec::new());
    loop {
        if let Ok(wanted) = core.next_restorations(server, &ended, 2).await {
            ended.clear();
            let begin = |file| Box::pin(restored(Rc::clone(&core), file)) as _;
            restoring.extend(wanted.into_iter().map(begin));
        }
        let mut pause = pin!(core.context().sleep(PAUSE));
        poll_fn(|task| {
            restoring.retain_mut(|restoration| match restoration.as_mut().poll(task) {
                Poll::Ready(restored) => {
                    ended.push(restored);
                    false
                }
                Poll::Pending => true,
            });
            pause.as_mut().poll(task)
        })
        .await;
    }
}

async fn restored(core: Rc<Client<SimulatedContext>>, file: FileId) -> Restored {
    let error = restore(&core, file).await.err();
    Restored { file, error }
}

/// Writes all data of a file, the last part first.
async fn restore(core: &Client<SimulatedContext>, file: FileId) -> Result<(), Errno> {
    let size = core.attributes(file).await?.attributes.size;
    let data = filled(size as u32, released_tag(size));
    let half = size / 2;
    let (first, second) = data.split_at(half as usize);
    core.write(file, half, second, false).await?;
    if half > 0 {
        core.write(file, 0, first, false).await?;
    }
    Ok(())
}
