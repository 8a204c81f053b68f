//! Buckets: their owners, their servers, the tiling of the hashes, and their counts.

use super::{Fault, Finding, Records, records::Bucket};
use futago_base::{BucketStart, FileId, Kind, ServerId, record::Header};
use futago_wire::inspection::{Inspected, InspectedKey, Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for (&(directory, start, server), header) in &records.headers {
        if let Some(fault) = misplacement(records, directory, start, server, header) {
            let remove = Repair::Remove(InspectedKey::Header(directory, start));
            findings.push(Finding::at(server, fault, vec![remove]));
        }
    }
    for (&(directory, start), bucket) in &records.buckets {
        findings.extend(check_bucket(directory, start, bucket));
    }
}

fn misplacement(
    records: &Records<'_>,
    directory: FileId,
    start: BucketStart,
    server: ServerId,
    header: &Header,
) -> Option<Fault> {
    let is_directory = records
        .nodes
        .get(&directory)
        .is_some_and(|node| node.kind == Kind::Directory);
    if !is_directory || !start.is_range(header.level) {
        return Some(Fault::StrayBucket(directory, start));
    }
    (records.map.bucket_server(directory, start) != server)
        .then_some(Fault::MisplacedBucket(directory, start))
}

fn check_bucket(directory: FileId, start: BucketStart, bucket: &Bucket) -> Option<Finding> {
    let counts = (bucket.entries, bucket.subdirectories);
    let recount = || Repair::RecountBucket(directory, start);
    let put = || {
        Repair::Put(Inspected::Header {
            directory,
            bucket: start,
            header: bucket.header,
        })
    };
    let (fault, repairs) = match bucket.found {
        None => (
            Fault::MissingBucket(directory, start),
            vec![put(), recount()],
        ),
        Some(found) if found.level != bucket.header.level => (
            Fault::OverlappingBucket(directory, start),
            vec![put(), recount()],
        ),
        Some(found) if (found.entries, found.subdirectories) != counts => {
            let counted = (found.entries, found.subdirectories);
            (
                Fault::WrongCounts(directory, start, counted, counts),
                vec![recount()],
            )
        }
        Some(_) => return None,
    };
    Some(Finding::at(bucket.server, fault, repairs))
}
