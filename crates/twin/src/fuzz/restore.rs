//! A client that brings the data of released files.

use super::perform::filled;
use crate::cluster::SimulatedContext;
use crate::model::released_tag;
use futago_base::{Duration, Errno, FileId, ServerId};
use futago_client::{Client, Context};
use futago_wire::Restored;
use std::rc::Rc;

/// How long it waits before it asks the servers again.
const PAUSE: Duration = Duration::from_millis(20);

/// Restores wanted files for ever.
pub(super) async fn serve(core: Rc<Client<SimulatedContext>>) {
    let servers: Vec<ServerId> = core.map().servers().collect();
    let mut ended = vec![Vec::new(); servers.len()];
    loop {
        for (&server, ended) in servers.iter().zip(&mut ended) {
            let Ok(wanted) = core.next_restorations(server, ended, 2).await else {
                continue;
            };
            ended.clear();
            for file in wanted {
                let error = restore(&core, file).await.err();
                ended.push(Restored { file, error });
            }
        }
        core.context().sleep(PAUSE).await;
    }
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
