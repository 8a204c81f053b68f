//! Buckets: whose they are, where they lie, whether they tile the hashes, and what they count.

use super::{
    Fault, Finding, Records,
    records::{Bucket, Node},
};
use futago_base::{BucketStart, FileId, Kind};
use futago_wire::step::Repair;
use std::collections::BTreeMap;

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    let mut sound: BTreeMap<FileId, Vec<(BucketStart, &Bucket)>> = BTreeMap::new();
    for (&(directory, start, server), bucket) in &records.buckets {
        match misplacement(records, directory, start, bucket) {
            Some(fault) => findings.push(Finding {
                fault,
                server,
                repairs: vec![(server, Repair::RemoveBucket(directory, start))],
            }),
            None => {
                sound.entry(directory).or_default().push((start, bucket));
                check_counts(directory, start, bucket, findings);
            }
        }
    }
    for (&directory, node) in &records.nodes {
        if node.kind == Kind::Directory {
            let buckets = sound.get(&directory).map_or(&[][..], Vec::as_slice);
            check_tiling(directory, node, buckets, findings);
        }
    }
}

fn misplacement(
    records: &Records<'_>,
    directory: FileId,
    start: BucketStart,
    bucket: &Bucket,
) -> Option<Fault> {
    let is_directory = records
        .nodes
        .get(&directory)
        .is_some_and(|node| node.kind == Kind::Directory);
    if !is_directory || !bucket.is_range(start) {
        return Some(Fault::StrayBucket(directory, start));
    }
    (records.map.bucket_server(directory, start) != bucket.server)
        .then_some(Fault::MisplacedBucket(directory, start))
}

fn check_counts(
    directory: FileId,
    start: BucketStart,
    bucket: &Bucket,
    findings: &mut Vec<Finding>,
) {
    let counted = (bucket.header.entries, bucket.header.subdirectories);
    let found = (bucket.entries, bucket.subdirectories);
    if counted != found {
        findings.push(Finding {
            fault: Fault::WrongCounts(directory, start, counted, found),
            server: bucket.server,
            repairs: vec![(bucket.server, Repair::RecountBucket(directory, start))],
        });
    }
}

fn check_tiling(
    directory: FileId,
    node: &Node,
    buckets: &[(BucketStart, &Bucket)],
    findings: &mut Vec<Finding>,
) {
    let mut expected = Some(BucketStart(0));
    let mut report = |fault, server| {
        findings.push(Finding {
            fault,
            server,
            repairs: Vec::new(),
        });
    };
    for &(start, bucket) in buckets {
        match expected {
            Some(next) if next == start => {}
            Some(next) if next < start => {
                report(Fault::MissingBucket(directory, next), node.server);
            }
            _ => report(Fault::OverlappingBucket(directory, start), bucket.server),
        }
        expected = start.end(bucket.header.level);
    }
    if let Some(next) = expected {
        report(Fault::MissingBucket(directory, next), node.server);
    }
}
