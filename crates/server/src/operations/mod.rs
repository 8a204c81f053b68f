//! What clients may ask, one operation a file.

mod announce_changes;
mod append;
mod attributes;
mod chunks;
pub mod create;
mod create_unnamed;
mod cut_ahead;
mod inspect;
mod locks;
mod lookup;
pub mod make_directory;
mod open;
mod prepare_write;
mod punch;
mod read;
mod read_directory;
mod repair;
mod seek;
mod set_attributes;
mod sum_data;
mod sum_headers;
mod take_exclusive;
mod transaction;
mod unlink;
mod write;
mod xattrs;

pub use inspect::inspected;

use crate::answer::{Answer, Result};
use crate::turn::Turn;
use futago_base::{Errno, Key, Kind, Payload, View, record::Target};
use futago_wire::{Reply, Request, Step};

/// Runs an operation.
#[expect(
    clippy::too_many_lines,
    reason = "a table: one line or two an operation"
)]
pub fn run<V: View>(turn: &mut Turn<'_, V>, request: &Request, payload: &Payload) -> Result {
    match request {
        Request::Lookup(at) => lookup::run(turn, at),
        Request::Create {
            at,
            node,
            exclusive,
            ..
        } => create::run(turn, at, node, *exclusive, payload),
        Request::CreateUnnamed { directory, node } => create_unnamed::run(turn, *directory, node),
        Request::MakeDirectory { at, mode, uid, gid } => {
            make_directory::run(turn, at, *mode, *uid, *gid)
        }
        Request::Unlink { at, .. } => unlink::run(turn, at),
        Request::ReadDirectory {
            directory,
            bucket,
            after,
            entries_max,
        } => read_directory::run(turn, *directory, *bucket, *after, *entries_max),
        Request::GetHeader { directory, bucket } => {
            let header = turn.bucket(*directory, *bucket)?;
            turn.unreserved(Target::Header(*directory, *bucket))?;
            turn.no_pending_entries(*directory, *bucket, &header)?;
            Ok(Reply::Header(header).into())
        }
        Request::SumData {
            file,
            size,
            chunk_bytes,
            truncations,
        } => sum_data::run(turn, *file, *size, *chunk_bytes, truncations),
        Request::SumHeaders(directory) => sum_headers::run(turn, *directory),
        Request::GetAttributes(ids) => attributes::run(turn, ids),
        Request::SetAttributes { id, change } => set_attributes::run(turn, *id, change),
        Request::ReadLink(id) => match turn.lasting_file(*id)? {
            inode if inode.kind == Kind::Symlink => Ok(Reply::Bytes(inode.target.clone()).into()),
            _ => Err(Errno::EINVAL.into()),
        },
        Request::Open(id) => open::open(turn, *id),
        Request::Close(id) => open::close(turn, *id),
        Request::AnnounceChanges(id) => announce_changes::run(turn, *id),
        Request::TakeExclusive(id) => take_exclusive::run(turn, *id),
        Request::Read { id, offset, length } => read::run(turn, *id, *offset, *length),
        Request::Write {
            id,
            offset,
            end,
            covered_from,
            kill_privileges,
            written,
            heard,
        } => {
            let note = write::Note {
                covered_from: *covered_from,
                end: *end,
                kill_privileges: *kill_privileges,
                written: *written,
                heard: *heard,
            };
            write::run(turn, *id, *offset, note, payload)
        }
        Request::Append {
            id,
            length,
            kill_privileges,
        } => append::run(turn, *id, *length, *kill_privileges, payload),
        Request::PrepareWrite { id, reach } => prepare_write::run(turn, *id, *reach),
        Request::FinishAppend {
            id,
            from,
            to,
            kill_privileges,
            heard,
        } => append::finish(turn, *id, &(*from..*to), *kill_privileges, *heard),
        Request::CutAhead(id) => cut_ahead::run(turn, *id),
        Request::Punch {
            id,
            from,
            to,
            grow_to,
        } => punch::run(turn, *id, *from, *to, *grow_to),
        Request::ReadChunk { .. }
        | Request::WriteChunk { .. }
        | Request::PunchChunks { .. }
        | Request::CopyChunk { .. } => chunks::run(turn, request, payload),
        Request::NextData {
            file,
            from,
            chunk_bytes,
            truncations,
        } => seek::next_data(turn, *file, *from, *chunk_bytes, truncations),
        Request::NextHole {
            file,
            from,
            chunk_bytes,
            truncations,
        } => seek::next_hole(turn, *file, *from, *chunk_bytes, truncations),
        Request::GetXattr { .. }
        | Request::SetXattr { .. }
        | Request::ListXattrs(_)
        | Request::RemoveXattr { .. } => xattrs::run(turn, request),
        Request::TestLock { .. } | Request::SetLock { .. } | Request::CancelLock { .. } => {
            locks::run(turn, request)
        }
        Request::Execute(steps) => transaction::execute(turn, steps),
        Request::Prepare { .. } => transaction::prepare(turn, request),
        Request::Decide {
            transaction,
            commit,
        } => transaction::decide(turn, *transaction, *commit),
        Request::GetTreeVersion => Ok(Reply::Number(turn.state.number(&Key::TreeVersion)).into()),
        Request::GetSpace => Ok(Reply::Space(turn.state.space()).into()),
        Request::Inspect { after, records_max } => inspect::run(turn, after.as_ref(), *records_max),
        Request::Repair(repair) => repair::run(turn, repair),
        // The runtime answers it before it gets here.
        Request::GetStatus => Err(Errno::ENOSYS.into()),
        Request::GiveBack(leases) => {
            turn.take_back(leases);
            Ok(Reply::Done.into())
        }
        Request::KeepAlive => Ok(Reply::Done.into()),
        Request::EndSession => {
            turn.end_session(turn.request.session);
            // Its replies are forgotten, this one among them, so it cannot be held.
            turn.answer_at_once();
            Ok(Answer::from(Reply::Done))
        }
    }
}

/// Whether the request may change something that a second run of it would change again: its
/// outcome is saved.
pub const fn may_have_effect(request: &Request) -> bool {
    !matches!(
        request,
        Request::Lookup(_)
            | Request::ReadDirectory { .. }
            | Request::GetHeader { .. }
            | Request::SumData { .. }
            | Request::SumHeaders(_)
            | Request::GetAttributes(_)
            | Request::ReadLink(_)
            | Request::Read { .. }
            | Request::ReadChunk { .. }
            | Request::NextData { .. }
            | Request::NextHole { .. }
            | Request::GetXattr { .. }
            | Request::ListXattrs(_)
            | Request::TestLock { .. }
            | Request::CancelLock { .. }
            | Request::GetTreeVersion
            | Request::GetSpace
            | Request::GetStatus
            | Request::Inspect { .. }
            | Request::GiveBack(_)
            | Request::KeepAlive
            | Request::EndSession
    )
}

/// Whether the request makes the store grow: it fails with `ENOSPC` when the store is full.
pub fn grows(request: &Request) -> bool {
    match request {
        Request::Create { .. }
        | Request::CreateUnnamed { .. }
        | Request::MakeDirectory { .. }
        | Request::PrepareWrite { .. }
        | Request::Write { .. }
        | Request::Append { .. }
        | Request::WriteChunk { .. }
        | Request::CopyChunk { .. }
        | Request::SetXattr { .. } => true,
        Request::Execute(steps) | Request::Prepare { steps, .. } => steps
            .iter()
            .any(|step| matches!(step, Step::PutEntry { .. } | Step::CreateDirectory(_))),
        _ => false,
    }
}
