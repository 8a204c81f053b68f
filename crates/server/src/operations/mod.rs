//! The operations of clients, one operation a file.

mod announce_changes;
mod append;
mod attributes;
mod attributes_ahead;
mod chunks;
mod consult;
pub mod create;
mod create_unnamed;
mod cut_ahead;
mod end_exclusive;
mod find;
mod find_copies;
mod forget_copies;
mod inspect;
mod list_here;
mod locks;
mod lookup;
pub mod make_directory;
mod next_restorations;
mod open;
mod prepare_write;
mod punch;
mod read;
mod read_directory;
mod recall_ahead;
mod repair;
mod seek;
mod set_attributes;
mod share;
mod still_writing;
mod sum_data;
mod sum_headers;
mod take_exclusive;
mod test_files;
mod transaction;
mod unlink;
mod write;
mod xattrs;

pub use inspect::inspected;

use crate::builder::DecisionBuilder;
use crate::completion::{Completion, Result};
use futago_base::{Errno, Key, Kind, Payload, View, record::Target};
use futago_wire::{Reply, Request, Step};

/// Runs an operation.
#[expect(
    clippy::too_many_lines,
    reason = "a table: one line or two an operation"
)]
pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    request: &Request,
    payload: &Payload,
) -> Result {
    match request {
        Request::Lookup(at) => lookup::run(builder, at),
        Request::Create {
            at,
            node,
            exclusive,
            ..
        } => create::run(builder, at, node, *exclusive, payload),
        Request::CreateUnnamed { directory, node } => {
            create_unnamed::run(builder, *directory, node)
        }
        Request::MakeDirectory { at, mode, uid, gid } => {
            make_directory::run(builder, at, *mode, *uid, *gid)
        }
        Request::Unlink { at, file } => unlink::run(builder, at, *file),
        Request::ReadDirectory {
            directory,
            bucket,
            after,
            entries_max,
        } => read_directory::run(builder, *directory, *bucket, *after, *entries_max),
        Request::GetHeader { directory, bucket } => {
            let header = builder.bucket(*directory, *bucket)?;
            builder.unreserved(Target::Header(*directory, *bucket))?;
            builder.no_pending_entries(*directory, *bucket, &header)?;
            Ok(Reply::Header(header).into())
        }
        Request::SumData {
            file,
            size,
            chunk_bytes,
            truncations,
        } => sum_data::run(builder, *file, *size, *chunk_bytes, truncations),
        Request::SumHeaders(directory) => sum_headers::run(builder, *directory),
        Request::Find {
            scans,
            tests,
            detail,
            entries_max,
        } => {
            let (detail, entries_max) = (*detail, *entries_max);
            find::run(builder, scans, find::Search { tests, detail }, entries_max)
        }
        Request::TestFiles {
            files,
            tests,
            detail,
        } => test_files::run(builder, files, tests, *detail),
        Request::ListHere {
            directory,
            after,
            entries_max,
        } => list_here::run(builder, *directory, *after, *entries_max),
        Request::GetAttributes(ids) => attributes::run(builder, ids),
        Request::GetAttributesAhead { id, ahead } => attributes_ahead::run(builder, *id, ahead),
        Request::RecallAhead(files) => recall_ahead::run(builder, files),
        Request::SetAttributes { id, change } => set_attributes::run(builder, *id, change),
        Request::ReadLink(id) => match builder.lasting_file(*id)? {
            inode if inode.kind == Kind::Symlink => Ok(Reply::Bytes(inode.target.clone()).into()),
            _ => Err(Errno::EINVAL.into()),
        },
        Request::Open(id) => open::open(builder, *id),
        Request::Close(id) => open::close(builder, *id),
        Request::AnnounceChanges(id) => announce_changes::run(builder, *id),
        Request::TakeExclusive(id) => take_exclusive::run(builder, *id),
        Request::EndExclusive { id, door } => end_exclusive::run(builder, *id, door),
        Request::Read { id, offset, length } => read::run(builder, *id, *offset, *length),
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
            write::run(builder, *id, *offset, note, payload)
        }
        Request::Append {
            id,
            length,
            kill_privileges,
        } => append::run(builder, *id, *length, *kill_privileges, payload),
        Request::PrepareWrite { id, reach } => prepare_write::run(builder, *id, *reach),
        Request::FinishAppend {
            id,
            from,
            to,
            kill_privileges,
            heard,
        } => append::finish(builder, *id, &(*from..*to), *kill_privileges, *heard),
        Request::CutAhead(id) => cut_ahead::run(builder, *id),
        Request::Share(door) => share::share(builder, door),
        Request::ListSharers { after } => share::list(builder, *after),
        Request::FindCopies {
            id,
            first,
            pieces,
            door,
            failed,
        } => find_copies::run(builder, *id, *first, *pieces, door, failed),
        Request::ForgetCopies { id, first, pieces } => {
            forget_copies::run(builder, *id, *first, *pieces)
        }
        Request::Punch {
            id,
            from,
            to,
            grow_to,
        } => punch::run(builder, *id, *from, *to, *grow_to),
        Request::ReadChunk { .. }
        | Request::WriteChunk { .. }
        | Request::PunchChunks { .. }
        | Request::CopyChunk { .. } => chunks::run(builder, request, payload),
        Request::NextData {
            file,
            from,
            chunk_bytes,
            truncations,
        } => seek::next_data(builder, *file, *from, *chunk_bytes, truncations),
        Request::NextHole {
            file,
            from,
            chunk_bytes,
            truncations,
        } => seek::next_hole(builder, *file, *from, *chunk_bytes, truncations),
        Request::GetXattr { .. }
        | Request::SetXattr { .. }
        | Request::ListXattrs(_)
        | Request::RemoveXattr { .. } => xattrs::run(builder, request),
        Request::TestLock { .. } | Request::SetLock { .. } | Request::CancelLock { .. } => {
            locks::run(builder, request)
        }
        Request::Execute(steps) => transaction::execute(builder, steps),
        Request::Prepare { .. } => transaction::prepare(builder, request),
        Request::Decide {
            transaction,
            commit,
        } => transaction::decide(builder, *transaction, *commit),
        Request::GetTreeVersion => {
            Ok(Reply::Number(builder.state.number(&Key::TreeVersion)).into())
        }
        Request::GetSpace => Ok(Reply::Space(builder.state.space()).into()),
        Request::Inspect { after, records_max } => {
            inspect::run(builder, after.as_ref(), *records_max)
        }
        Request::Repair(repair) => repair::run(builder, repair),
        // The runtime replies to them before they get here.
        Request::GetStatus | Request::GetLocations { .. } => Err(Errno::ENOSYS.into()),
        Request::GiveBack(leases) => {
            builder.return_leases(leases);
            Ok(Reply::Done.into())
        }
        Request::Consult(question) => consult::run(builder, request, question),
        Request::NextRestorations { ended, files_max } => {
            next_restorations::run(builder, ended, *files_max)
        }
        Request::KeepAlive => Ok(Reply::Done.into()),
        // The driver withholds the reply until it is true.
        Request::Synchronize => Ok(Reply::Synchronized.into()),
        Request::StillWriting(files) => still_writing::run(builder, files),
        Request::EndSession => {
            builder.end_session(builder.request.session);
            // The end of the session forgets its replies, this one included, so this reply cannot
            // be held.
            builder.reply_at_once();
            Ok(Completion::from(Reply::Done))
        }
    }
}

/// Whether a second run of the request could have a second effect: its outcome is saved.
pub const fn may_have_effect(request: &Request) -> bool {
    !matches!(
        request,
        Request::Lookup(_)
            | Request::ReadDirectory { .. }
            | Request::GetHeader { .. }
            | Request::SumData { .. }
            | Request::SumHeaders(_)
            | Request::Find { .. }
            | Request::TestFiles { .. }
            | Request::ListHere { .. }
            | Request::GetAttributes(_)
            | Request::GetAttributesAhead { .. }
            | Request::FindCopies { .. }
            | Request::ForgetCopies { .. }
            | Request::Share(_)
            | Request::ListSharers { .. }
            | Request::RecallAhead(_)
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
            | Request::GetLocations { .. }
            | Request::Inspect { .. }
            | Request::GiveBack(_)
            | Request::Consult(_)
            | Request::KeepAlive
            | Request::StillWriting(_)
            | Request::Synchronize
            | Request::EndSession
    )
}

/// Whether the request makes the store grow. Such a request fails with `ENOSPC` when the store is
/// full.
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
