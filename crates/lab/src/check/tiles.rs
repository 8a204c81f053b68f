//! The buckets that directories should have: the present ones, with missing ones added and
//! overlapping ones cut.

use super::{
    Records,
    records::{Bucket, Node},
};
use futago_base::{BucketStart, FileId, Kind, ServerId, record::Header};
use std::collections::BTreeMap;

/// The end of the range of hashes.
const END: u64 = BucketStart::width(0);

/// The buckets of all directories.
pub(super) fn of_all(records: &Records<'_>) -> BTreeMap<(FileId, BucketStart), Bucket> {
    let directories = records
        .nodes
        .iter()
        .filter(|(_, node)| node.kind == Kind::Directory);
    directories
        .flat_map(|(&directory, node)| {
            let tiles = of_directory(records, directory, node);
            tiles.map(move |(start, bucket)| ((directory, start), bucket))
        })
        .collect()
}

fn of_directory(
    records: &Records<'_>,
    directory: FileId,
    node: &Node,
) -> impl Iterator<Item = (BucketStart, Bucket)> {
    let found = sound_headers(records, directory);
    let tiles = tile(found.iter().map(|&(start, header)| (start, header.level)));
    let model = found.first().map_or_else(
        || new_header(records, directory, node),
        |(_, header)| *header,
    );
    tiles.into_iter().map(move |(start, level)| {
        let known = found.iter().find(|(of, _)| *of == start);
        let known = known.map(|(_, header)| *header);
        let header = Header {
            level,
            ..known.unwrap_or(model)
        };
        let bucket = Bucket {
            server: records.map.bucket_server(directory, start),
            found: known,
            header,
            entries: 0,
            subdirectories: 0,
        };
        (start, bucket)
    })
}

/// The headers on the servers where clients look for them.
fn sound_headers(records: &Records<'_>, directory: FileId) -> Vec<(BucketStart, Header)> {
    let first = (directory, BucketStart(0), ServerId(0));
    let last = (directory, BucketStart(u64::MAX), ServerId(u16::MAX));
    records
        .headers
        .range(first..=last)
        .filter(|((_, start, server), header)| {
            start.is_range(header.level) && records.map.bucket_server(directory, *start) == *server
        })
        .map(|(&(_, start, _), header)| (start, *header))
        .collect()
}

/// Starts and levels of buckets that tile the hashes, from present buckets in the order of their
/// starts. A bucket that overlaps the next one is halved until it does not. Gaps are filled with
/// the largest buckets that fit.
fn tile(found: impl Iterator<Item = (BucketStart, u8)>) -> Vec<(BucketStart, u8)> {
    let mut tiles = Vec::new();
    let mut next = 0;
    let mut found = found.peekable();
    while next < END {
        let known = found.next_if(|(start, _)| start.0 == next);
        let limit = found.peek().map_or(END, |(start, _)| start.0);
        let (start, level) = largest(next, known.map_or(0, |(_, level)| level), limit);
        tiles.push((start, level));
        next = start.0 + BucketStart::width(level);
    }
    tiles
}

/// The largest bucket from `start` on that is halved at least `level` times and ends at `limit` or
/// before.
fn largest(start: u64, level: u8, limit: u64) -> (BucketStart, u8) {
    let bucket = BucketStart(start);
    let fits = |&level: &u8| bucket.is_range(level) && start + BucketStart::width(level) <= limit;
    let level = (level..=BucketStart::LEVEL_MAX).find(fits);
    (bucket, level.unwrap_or(BucketStart::LEVEL_MAX))
}

/// A new header for a directory that has lost all its headers.
fn new_header(records: &Records<'_>, directory: FileId, node: &Node) -> Header {
    Header {
        level: 0,
        mode: node.mode,
        gid: node.gid,
        chunk_bytes: node.chunk_bytes,
        depth: depth(records, directory, node),
        entries: 0,
        subdirectories: 0,
        pending: 0,
        modified: node.modified,
    }
}

/// The depth below the parent, if the parent is known; it is a placement hint.
fn depth(records: &Records<'_>, directory: FileId, node: &Node) -> u16 {
    if directory == FileId::ROOT {
        return 0;
    }
    let above = node.parent.and_then(|parent| {
        let headers = sound_headers(records, parent);
        headers.first().map(|(_, header)| header.depth)
    });
    above.unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets at sixteenths of the hashes.
    fn tiled(found: &[(u64, u8)]) -> Vec<(u64, u8)> {
        let sixteenth = END / 16;
        let found = found
            .iter()
            .map(|&(start, level)| (BucketStart(start * sixteenth), level));
        tile(found)
            .into_iter()
            .map(|(start, level)| (start.0 / sixteenth, level))
            .collect()
    }

    #[test]
    fn buckets_that_tile_stay() {
        let sound = [(0, 1), (8, 2), (12, 3), (14, 3)];
        assert_eq!(tiled(&sound), sound);
    }

    #[test]
    fn gaps_are_filled_with_the_largest_buckets_that_fit() {
        assert_eq!(tiled(&[]), [(0, 0)]);
        assert_eq!(tiled(&[(0, 1)]), [(0, 1), (8, 1)]);
        assert_eq!(tiled(&[(6, 3)]), [(0, 2), (4, 3), (6, 3), (8, 1)]);
    }

    #[test]
    fn a_bucket_that_reaches_into_another_is_halved() {
        assert_eq!(tiled(&[(0, 0), (8, 1)]), [(0, 1), (8, 1)]);
        assert_eq!(tiled(&[(0, 0), (12, 2)]), [(0, 1), (8, 2), (12, 2)]);
    }
}
