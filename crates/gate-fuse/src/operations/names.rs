//! Names: finding, removing, moving, adding.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use bytes::Bytes;
use futago_base::{Errno, FileId, Name};
use futago_client::{Context, RenameFlags};
use futago_fuse_kernel::Rename;

pub async fn lookup<C: Context>(call: &Call<C>, name: Bytes) -> Outcome {
    let state = call.client.lookup(call.node(), &Name::new(name)?).await?;
    Ok(Answer::Entry(state.attributes))
}

pub async fn unlink<C: Context>(call: &Call<C>, name: Bytes) -> Outcome {
    call.client.unlink(call.node(), &Name::new(name)?).await?;
    Ok(Answer::Done)
}

pub async fn remove_directory<C: Context>(call: &Call<C>, name: Bytes) -> Outcome {
    let name = Name::new(name)?;
    call.client.remove_directory(call.node(), &name).await?;
    Ok(Answer::Done)
}

pub async fn rename<C: Context>(call: &Call<C>, rename: Rename) -> Outcome {
    let flags = RenameFlags {
        no_replace: rename.flags & libc::RENAME_NOREPLACE != 0,
        exchange: rename.flags & libc::RENAME_EXCHANGE != 0,
    };
    if rename.flags & !(libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE) != 0 {
        return Err(Errno::EINVAL);
    }
    let (name, new_name) = (Name::new(rename.name)?, Name::new(rename.new_name)?);
    let new_directory = FileId(rename.new_directory);
    let (client, directory) = (&call.client, call.node());
    client
        .rename(directory, &name, new_directory, &new_name, flags)
        .await?;
    Ok(Answer::Done)
}

pub async fn link<C: Context>(call: &Call<C>, node: u64, name: Bytes) -> Outcome {
    let (id, name) = (FileId(node), Name::new(name)?);
    let state = call.client.link(id, call.node(), &name).await?;
    Ok(Answer::Entry(state.attributes))
}
