//! Each kind of damage is found, and its repairs lead to records without any.

mod cluster;

use super::*;
use cluster::{BELOW, Cluster, DIRECTORY, FILE, beside, header, id, inode};
use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Kind, Name, NameHash, Partition, ServerId, Timestamp,
    map::Policy,
    record::{DirectoryPlace, Entry, Header, Inode, Truncations},
};
use futago_wire::inspection::{Inspected, InspectedKey, Repair};

const CHUNK_BYTES: u32 = 4096;
const HALF: BucketStart = BucketStart(1 << 62);

#[test]
fn sound_records_have_no_findings() {
    assert_eq!(Cluster::new().check(), []);
}

#[test]
fn an_entry_that_leads_nowhere_goes() {
    let mut cluster = Cluster::new();
    cluster.name(DIRECTORY, "ghost", id(5, 5), Kind::File);
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::DanglingEntry]);
}

#[test]
fn an_entry_that_lies_about_the_kind_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.name(DIRECTORY, "file", FILE, Kind::Fifo);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::WrongKind]);
}

#[test]
fn a_second_entry_of_a_name_on_the_wrong_server_goes() {
    let mut cluster = Cluster::new();
    let wrong = beside(beside(cluster.server_of(DIRECTORY, "file")));
    let (id, kind) = (BELOW, Kind::Directory);
    cluster.name_at(wrong, DIRECTORY, "file", Entry { id, kind });
    assert_eq!(
        cluster.found_and_repaired(),
        [FaultKind::EntryWithoutBucket]
    );
    cluster.assert_names();
}

#[test]
fn an_entry_that_is_only_on_the_wrong_server_goes_where_it_belongs() {
    let mut cluster = Cluster::new();
    let wrong = beside(beside(cluster.server_of(DIRECTORY, "file")));
    let entry = cluster.entry(DIRECTORY, "file").unwrap();
    cluster.lose(DIRECTORY, "file");
    cluster.recount();
    cluster.name_at(wrong, DIRECTORY, "file", entry);
    assert_eq!(
        cluster.found_and_repaired(),
        [FaultKind::EntryWithoutBucket]
    );
    cluster.assert_names();
}

#[test]
fn a_directory_that_lost_its_name_gets_one_in_the_root() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "below");
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::LostInode]);
    assert_eq!(cluster.parent(BELOW), FileId::ROOT);
    let lost = format!("lost+found.{:016x}", BELOW.0);
    assert_eq!(cluster.entry(FileId::ROOT, &lost).unwrap().id, BELOW);
}

#[test]
fn a_reconnected_node_takes_no_existing_name() {
    let mut cluster = Cluster::new();
    let lost = format!("lost+found.{:016x}", BELOW.0);
    cluster.name(FileId::ROOT, &lost, FILE, Kind::File);
    cluster.inode(FILE).unwrap().links = 3;
    cluster.lose(DIRECTORY, "below");
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::LostInode]);
    assert_eq!(cluster.entry(FileId::ROOT, &lost).unwrap().id, FILE);
    let other = format!("{lost}.1");
    assert_eq!(cluster.entry(FileId::ROOT, &other).unwrap().id, BELOW);
}

#[test]
fn a_file_that_lost_its_last_name_keeps_its_data() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "file");
    cluster.lose(FileId::ROOT, "link");
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::LostInode]);
    assert_eq!(cluster.inode(FILE).unwrap().links, 1);
    assert_eq!(cluster.chunks(), 3);
}

#[test]
fn a_removed_file_lives_only_while_it_is_open() {
    let mut cluster = Cluster::new();
    let removed = id(2, 7);
    cluster.add_inode(removed, inode(Kind::File, 0, 10), true);
    cluster.chunk(removed, 0);
    assert_eq!(cluster.check(), []);
    cluster.add_inode(removed, inode(Kind::File, 0, 10), false);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::Orphan]);
    assert!(cluster.inode(removed).is_none());
}

#[test]
fn a_wrong_count_of_links_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.inode(FILE).unwrap().links = 3;
    assert_eq!(cluster.found_and_repaired(), [FaultKind::WrongLinks]);
    assert_eq!(cluster.inode(FILE).unwrap().links, 2);
}

#[test]
fn a_wrong_parent_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.set_parent(BELOW, FileId::ROOT);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::WrongParent]);
    assert_eq!(cluster.parent(BELOW), DIRECTORY);
}

#[test]
fn of_two_names_of_a_directory_the_one_that_it_knows_stays() {
    let mut cluster = Cluster::new();
    cluster.name(FileId::ROOT, "again", BELOW, Kind::Directory);
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::SecondName]);
    cluster.assert_names();
}

#[test]
fn a_second_name_that_also_lies_about_the_kind_goes() {
    let mut cluster = Cluster::new();
    cluster.name(FileId::ROOT, "again", BELOW, Kind::File);
    cluster.recount();
    assert_eq!(
        cluster.found_and_repaired(),
        [FaultKind::WrongKind, FaultKind::SecondName]
    );
    cluster.assert_names();
}

#[test]
fn a_ring_of_directories_is_opened_once() {
    let mut cluster = Cluster::new();
    cluster.lose(FileId::ROOT, "directory");
    cluster.name(BELOW, "up", DIRECTORY, Kind::Directory);
    cluster.set_parent(DIRECTORY, BELOW);
    cluster.recount();
    assert_eq!(cluster.found_and_repaired(), [FaultKind::Loop]);
}

#[test]
fn wrong_counts_of_a_bucket_are_set_right() {
    let mut cluster = Cluster::new();
    let server = cluster.map.bucket_server(DIRECTORY, HALF);
    let header = Header {
        entries: 77,
        ..header(1)
    };
    cluster.put(
        server,
        Inspected::Header {
            directory: DIRECTORY,
            bucket: HALF,
            header,
        },
    );
    assert_eq!(cluster.found_and_repaired(), [FaultKind::WrongCounts]);
}

#[test]
fn a_bucket_without_its_directory_goes_with_its_entries() {
    let mut cluster = Cluster::new();
    let gone = id(6, 6);
    cluster.add_directory(gone, FileId::ROOT, &[(BucketStart(0), 0)]);
    cluster.name(gone, "file", FILE, Kind::File);
    cluster.recount();
    cluster.remove(cluster.map.home(gone), &InspectedKey::Inode(gone));
    assert_eq!(
        cluster.found_and_repaired(),
        [FaultKind::EntryWithoutBucket, FaultKind::StrayBucket]
    );
}

#[test]
fn a_bucket_that_nobody_looks_for_goes() {
    let mut cluster = Cluster::new();
    let wrong = beside(cluster.map.bucket_server(DIRECTORY, HALF));
    cluster.put_header(wrong, DIRECTORY, HALF, 1);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MisplacedBucket]);
}

#[test]
fn a_bucket_that_nobody_looks_for_takes_no_entries_of_another_with_it() {
    for (start, level) in [(BucketStart(0), 0), (HALF, 1), (BucketStart(HALF.0 / 2), 2)] {
        for server in (0..4).map(ServerId) {
            let mut cluster = Cluster::new();
            if cluster.map.bucket_server(DIRECTORY, start) != server {
                cluster.put_header(server, DIRECTORY, start, level);
                assert_eq!(cluster.found_and_repaired(), [FaultKind::MisplacedBucket]);
                cluster.assert_names();
            }
        }
    }
}

#[test]
fn a_bucket_that_is_on_another_server_with_its_entries_comes_back() {
    let mut cluster = Cluster::new();
    let (home, wrong) = (ServerId(0), ServerId(1));
    for record in cluster.records(home).to_vec() {
        if let InspectedKey::Header(FileId::ROOT, _) | InspectedKey::Entry(FileId::ROOT, _) =
            record.key()
        {
            cluster.remove(home, &record.key());
            cluster.put(wrong, record);
        }
    }
    assert_eq!(
        cluster.found_and_repaired(),
        [
            FaultKind::EntryWithoutBucket,
            FaultKind::MissingBucket,
            FaultKind::MisplacedBucket
        ]
    );
    cluster.assert_names();
}

#[test]
fn a_bucket_with_an_impossible_range_goes() {
    for (start, level) in [
        (BucketStart(3), 1),
        (BucketStart(1 << 63), 0),
        (BucketStart(HALF.0 / 2), 200),
    ] {
        for server in (0..4).map(ServerId) {
            let mut cluster = Cluster::new();
            cluster.put_header(server, DIRECTORY, start, level);
            assert_eq!(cluster.found_and_repaired(), [FaultKind::StrayBucket]);
            cluster.assert_names();
        }
    }
}

#[test]
fn a_missing_bucket_is_made_around_its_entries() {
    for bucket in [BucketStart(0), HALF] {
        let mut cluster = Cluster::new();
        let server = cluster.map.bucket_server(DIRECTORY, bucket);
        cluster.remove(server, &InspectedKey::Header(DIRECTORY, bucket));
        assert_eq!(cluster.found_and_repaired(), [FaultKind::MissingBucket]);
        cluster.assert_names();
    }
}

#[test]
fn a_directory_without_any_bucket_gets_one() {
    let mut cluster = Cluster::new();
    let home = cluster.map.home(BELOW);
    cluster.remove(home, &InspectedKey::Header(BELOW, BucketStart(0)));
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MissingBucket]);
}

#[test]
fn a_bucket_that_reaches_into_the_next_is_cut() {
    let mut cluster = Cluster::new();
    let home = cluster.map.home(DIRECTORY);
    cluster.put_header(home, DIRECTORY, BucketStart(0), 0);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::OverlappingBucket]);
    cluster.assert_names();
}

#[test]
fn a_bucket_that_comes_up_within_another_leaves_its_names() {
    for start in [HALF, BucketStart(HALF.0 / 2), BucketStart(HALF.0 / 2 * 3)] {
        let mut cluster = Cluster::new();
        let server = cluster.map.bucket_server(FileId::ROOT, start);
        let level = if start == HALF { 1 } else { 2 };
        cluster.put_header(server, FileId::ROOT, start, level);
        let kinds = cluster.found_and_repaired();
        assert!(kinds.contains(&FaultKind::OverlappingBucket), "{kinds:?}");
        cluster.assert_names();
    }
}

#[test]
fn chunks_without_a_file_or_beyond_its_end_or_elsewhere_go() {
    let mut cluster = Cluster::new();
    cluster.chunk(id(7, 70), 4);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::ChunkWithoutFile]);
    cluster.chunk(FILE, 3);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::ChunkBeyondEnd]);
    let chunk = ChunkId {
        file: FILE,
        index: 1,
    };
    let wrong = beside(cluster.map.chunk_server(chunk));
    cluster.put(wrong, Inspected::Chunk { chunk, end: 1 });
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MisplacedChunk]);
    assert_eq!(cluster.chunks(), 3);
}

#[test]
fn an_open_file_may_be_written_ahead_of_its_size() {
    let mut cluster = Cluster::new();
    cluster.chunk(FILE, 3);
    cluster.admit(FILE, 0, 0);
    let ahead = Inode {
        reach: 18_000,
        ..inode(Kind::File, 2, 9000)
    };
    cluster.add_inode(FILE, ahead, true);
    assert_eq!(cluster.check(), []);
}

/// Chunk 2 of the file.
const LAST: ChunkId = ChunkId {
    file: FILE,
    index: 2,
};

#[test]
fn a_server_that_missed_a_truncation_is_brought_forward() {
    let mut cluster = Cluster::new();
    cluster.inode(FILE).unwrap().truncations.truncate(9000);
    cluster.admit(FILE, 3, 1);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MissedTruncation]);
    assert_eq!(cluster.chunks(), 3);
}

/// The server has cut the data that it would not serve, or must treat it as cut.
#[test]
fn data_cut_by_a_missed_truncation_is_removed() {
    let mut cluster = Cluster::new();
    cluster.inode(FILE).unwrap().truncations.truncate(8200);
    cluster.admit(FILE, 2, 1);
    let kinds = [FaultKind::UnservedChunk, FaultKind::MissedTruncation];
    assert_eq!(cluster.found_and_repaired(), kinds);
    assert_eq!(cluster.end_of(LAST), Some(8));
}

#[test]
fn a_truncation_that_is_not_confirmed_may_be_missed() {
    let mut cluster = Cluster::new();
    let inode = cluster.inode(FILE).unwrap();
    inode.truncations.truncate(0);
    inode.cuts_pending = 2;
    assert_eq!(cluster.check(), []);
}

#[test]
fn a_truncation_that_the_home_does_not_know_is_forgotten() {
    let mut cluster = Cluster::new();
    cluster.admit(FILE, 2, 7);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MissedTruncation]);
}

#[test]
fn data_on_a_server_without_an_admission_is_served_again() {
    let mut cluster = Cluster::new();
    cluster.remove(ServerId(3), &InspectedKey::Admitted(FILE));
    assert_eq!(cluster.found_and_repaired(), [FaultKind::UnservedChunk]);
    assert_eq!(cluster.end_of(LAST), Some(100));
}

#[test]
fn data_beyond_the_reach_of_a_file_goes() {
    let mut cluster = Cluster::new();
    cluster.inode(FILE).unwrap().reach = 8192;
    let kinds = [FaultKind::UnservedChunk, FaultKind::StrayAdmission];
    assert_eq!(cluster.found_and_repaired(), kinds);
    assert_eq!(cluster.end_of(LAST), None);
}

#[test]
fn a_server_takes_no_chunks_of_a_file_that_is_gone() {
    let mut cluster = Cluster::new();
    cluster.admit(id(7, 70), 1, 0);
    cluster.admit(DIRECTORY, 2, 0);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::StrayAdmission]);
}

#[test]
fn an_inode_away_from_home_goes_home() {
    for id in [FileId::ROOT, DIRECTORY, BELOW, FILE] {
        let mut cluster = Cluster::new();
        let inode = cluster.inode(id).unwrap().clone();
        let home = cluster.map.home(id);
        cluster.remove(home, &InspectedKey::Inode(id));
        let record = Inspected::Inode {
            id,
            inode: Box::new(inode.clone()),
            open: false,
        };
        cluster.put(beside(home), record);
        assert_eq!(cluster.found_and_repaired(), [FaultKind::MisplacedInode]);
        assert_eq!(cluster.inode(id), Some(&mut inode.clone()));
        cluster.assert_names();
    }
}

#[test]
fn a_second_inode_away_from_home_goes() {
    let mut cluster = Cluster::new();
    let record = Inspected::Inode {
        id: FILE,
        inode: Box::new(inode(Kind::File, 7, 1)),
        open: false,
    };
    cluster.put(beside(cluster.map.home(FILE)), record);
    assert_eq!(cluster.found_and_repaired(), [FaultKind::MisplacedInode]);
    assert_eq!(cluster.inode(FILE).unwrap().links, 2);
    assert_eq!(cluster.chunks(), 3);
}

#[test]
fn a_lost_root_is_made_anew_around_its_names() {
    let mut cluster = Cluster::new();
    let home = cluster.map.home(FileId::ROOT);
    cluster.remove(home, &InspectedKey::Inode(FileId::ROOT));
    assert_eq!(cluster.found_and_repaired(), [FaultKind::NoRoot]);
    cluster.assert_names();
    cluster.remove(home, &InspectedKey::Inode(FileId::ROOT));
    cluster.remove(home, &InspectedKey::Header(FileId::ROOT, BucketStart(0)));
    assert_eq!(
        cluster.found_and_repaired(),
        [FaultKind::NoRoot, FaultKind::MissingBucket]
    );
    cluster.assert_names();
}

#[test]
fn many_kinds_of_damage_at_once_are_mended_together() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "below");
    cluster.name(DIRECTORY, "ghost", id(5, 5), Kind::File);
    cluster.inode(FILE).unwrap().links = 9;
    cluster.chunk(id(7, 70), 4);
    assert!(cluster.found_and_repaired().len() >= 4);
}

/// Each record of a sound cluster is lost, copied to a second server, or moved there, one after the
/// other. A lost chunk is a hole.
#[test]
fn every_lost_or_misplaced_record_is_repaired() {
    for server in (0..4).map(ServerId) {
        for record in Cluster::new().records(server) {
            let mut cluster = Cluster::new();
            cluster.remove(server, &record.key());
            let hole = matches!(record, Inspected::Chunk { .. });
            assert_eq!(
                cluster.found_and_repaired().is_empty(),
                hole,
                "lost {record:?}"
            );
            let has_none = |wrong: &ServerId| !Cluster::new().records(*wrong).contains(record);
            for wrong in (0..4).map(ServerId).filter(has_none) {
                let mut cluster = Cluster::new();
                cluster.put(wrong, record.clone());
                assert!(!cluster.found_and_repaired().is_empty(), "twice {record:?}");
                cluster.assert_names();
                let mut cluster = Cluster::new();
                cluster.remove(server, &record.key());
                cluster.put(wrong, record.clone());
                assert!(!cluster.found_and_repaired().is_empty(), "moved {record:?}");
                cluster.assert_names();
            }
        }
    }
}
