//! Each kind of damage is found, and the repairs for it lead to records without any.

use super::*;
use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Kind, Name, NameHash, Partition, ServerId, Timestamp,
    map::Policy,
    record::{Entry, Header},
};
use futago_wire::{
    Spot,
    step::{Inspected, Repair},
};
use std::collections::BTreeMap;

const CHUNK_BYTES: u32 = 4096;
const HALF: BucketStart = BucketStart(1 << 62);

/// The records of a small cluster, which a test damages.
struct Cluster {
    map: ClusterMap,
    nodes: BTreeMap<FileId, (Kind, u32, u64, Option<FileId>, bool)>,
    buckets: BTreeMap<(ServerId, FileId, BucketStart), (u8, u64, u32)>,
    entries: BTreeMap<(ServerId, FileId, NameHash, Name), Entry>,
    chunks: BTreeMap<(ServerId, ChunkId), u32>,
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

fn id(partition: u16, counter: u64) -> FileId {
    FileId::new(Partition(partition), counter)
}

const DIRECTORY: FileId = FileId::new(Partition(1), 1);
const BELOW: FileId = FileId::new(Partition(3), 9);
const FILE: FileId = FileId::new(Partition(1), 2);

impl Cluster {
    /// `/directory/{file,below/}` and `/link`, a second name of the file, on four servers; the
    /// directory has two buckets.
    fn new() -> Self {
        let mut cluster = Self {
            map: ClusterMap::new(1, Policy::Modular, 16, 4).unwrap(),
            nodes: BTreeMap::new(),
            buckets: BTreeMap::new(),
            entries: BTreeMap::new(),
            chunks: BTreeMap::new(),
        };
        cluster.add_directory(FileId::ROOT, FileId::ROOT, &[(BucketStart(0), 0)]);
        cluster.add_directory(DIRECTORY, FileId::ROOT, &[(BucketStart(0), 1), (HALF, 1)]);
        cluster.add_directory(BELOW, DIRECTORY, &[(BucketStart(0), 0)]);
        cluster
            .nodes
            .insert(FILE, (Kind::File, 2, 9000, None, false));
        cluster.name(FileId::ROOT, "directory", DIRECTORY, Kind::Directory);
        cluster.name(FileId::ROOT, "link", FILE, Kind::File);
        cluster.name(DIRECTORY, "file", FILE, Kind::File);
        cluster.name(DIRECTORY, "below", BELOW, Kind::Directory);
        for index in 0..3 {
            cluster.chunk(FILE, index);
        }
        cluster.recount();
        cluster
    }

    fn add_directory(&mut self, id: FileId, parent: FileId, buckets: &[(BucketStart, u8)]) {
        self.nodes
            .insert(id, (Kind::Directory, 0, 0, Some(parent), false));
        for &(start, level) in buckets {
            let server = self.map.bucket_server(id, start);
            self.buckets.insert((server, id, start), (level, 0, 0));
        }
    }

    fn bucket_of(&self, directory: FileId, hash: NameHash) -> (ServerId, BucketStart) {
        self.buckets
            .iter()
            .find(|((_, of, start), (level, ..))| *of == directory && start.covers(*level, hash))
            .map(|((server, _, start), _)| (*server, *start))
            .unwrap()
    }

    fn spot(&self, directory: FileId, text: &str) -> (ServerId, Spot) {
        let name = name(text);
        let (server, bucket) = self.bucket_of(directory, name.hash());
        (
            server,
            Spot {
                directory,
                bucket,
                name,
            },
        )
    }

    fn name(&mut self, directory: FileId, text: &str, id: FileId, kind: Kind) {
        let (server, spot) = self.spot(directory, text);
        self.apply(server, &Repair::PutEntry(spot, Entry { id, kind }));
    }

    fn lose(&mut self, directory: FileId, text: &str) {
        let (server, spot) = self.spot(directory, text);
        self.apply(server, &Repair::RemoveEntry(spot));
    }

    fn chunk(&mut self, file: FileId, index: u64) {
        let chunk = ChunkId { file, index };
        self.chunks
            .insert((self.map.chunk_server(chunk), chunk), 100);
    }

    fn recount(&mut self) {
        let all: Vec<_> = self.buckets.keys().copied().collect();
        for (server, directory, start) in all {
            self.apply(server, &Repair::RecountBucket(directory, start));
        }
    }

    /// What a server does about a repair, in its simplest form.
    fn apply(&mut self, server: ServerId, repair: &Repair) {
        match repair {
            Repair::RemoveEntry(spot) => {
                let key = (server, spot.directory, spot.name.hash(), spot.name.clone());
                self.entries.remove(&key);
            }
            Repair::PutEntry(spot, entry) => {
                let key = (server, spot.directory, spot.name.hash(), spot.name.clone());
                self.entries.insert(key, *entry);
            }
            Repair::RemoveInode(id) => {
                self.nodes.remove(id);
                self.chunks.retain(|(_, chunk), _| chunk.file != *id);
            }
            Repair::SetLinks(id, links) => self.nodes.get_mut(id).unwrap().1 = *links,
            Repair::SetParent(id, parent) => self.nodes.get_mut(id).unwrap().3 = Some(*parent),
            Repair::RecountBucket(directory, start) => {
                self.recount_bucket(server, *directory, *start)
            }
            Repair::RemoveBucket(directory, start) => {
                let (level, ..) = self.buckets.remove(&(server, *directory, *start)).unwrap();
                self.entries.retain(|(at, of, hash, _), _| {
                    (*at, *of) != (server, *directory) || !start.covers(level, *hash)
                });
            }
            Repair::RemoveChunks(chunks) => {
                self.chunks
                    .retain(|(at, chunk), _| *at != server || !chunks.contains(chunk));
            }
            Repair::Plant(_) => unreachable!("a plan never damages"),
        }
    }

    fn recount_bucket(&mut self, server: ServerId, directory: FileId, start: BucketStart) {
        let Some(bucket) = self.buckets.get_mut(&(server, directory, start)) else {
            return;
        };
        let (mut entries, mut subdirectories) = (0, 0);
        for ((at, of, hash, _), entry) in &self.entries {
            if (*at, *of) == (server, directory) && start.covers(bucket.0, *hash) {
                entries += 1;
                subdirectories += u32::from(entry.kind == Kind::Directory);
            }
        }
        (bucket.1, bucket.2) = (entries, subdirectories);
    }

    fn listings(&self) -> Vec<Listing> {
        let mut listings: Vec<Listing> = self
            .map
            .servers()
            .map(|server| Listing {
                server,
                records: Vec::new(),
            })
            .collect();
        let mut put = |server: ServerId, record| listings[server.0 as usize].records.push(record);
        for (&id, &(kind, links, size, parent, open)) in &self.nodes {
            put(
                self.map.home(id),
                Inspected::Inode {
                    id,
                    kind,
                    links,
                    size,
                    chunk_bytes: CHUNK_BYTES,
                    parent,
                    open,
                },
            );
        }
        for (&(server, directory, bucket), &(level, entries, subdirectories)) in &self.buckets {
            let header = header(level, entries, subdirectories);
            put(
                server,
                Inspected::Header {
                    directory,
                    bucket,
                    header,
                },
            );
        }
        for ((server, directory, _, name), &entry) in &self.entries {
            put(
                *server,
                Inspected::Entry {
                    directory: *directory,
                    name: name.clone(),
                    entry,
                },
            );
        }
        for (&(server, chunk), &end) in &self.chunks {
            put(server, Inspected::Chunk { chunk, end });
        }
        listings
    }

    fn check(&self) -> Vec<Finding> {
        let listings = self.listings();
        check(&Records::new(&self.map, &listings))
    }

    /// What is found now; after the repairs nothing is.
    fn found_and_mended(&mut self) -> Vec<&'static str> {
        let findings = self.check();
        for (server, repair) in repair_plan(&findings) {
            self.apply(server, &repair);
        }
        assert_eq!(self.check(), [], "after the repair of {findings:?}");
        findings
            .iter()
            .map(|finding| finding.fault.kind())
            .collect()
    }
}

fn header(level: u8, entries: u64, subdirectories: u32) -> Header {
    Header {
        level,
        mode: 0o755,
        gid: 0,
        depth: 0,
        entries,
        subdirectories,
        pending: 0,
        modified: Timestamp::default(),
    }
}

#[test]
fn sound_records_have_no_findings() {
    assert_eq!(Cluster::new().check(), []);
}

#[test]
fn an_entry_that_leads_nowhere_goes() {
    let mut cluster = Cluster::new();
    cluster.name(DIRECTORY, "ghost", id(5, 5), Kind::File);
    cluster.recount();
    assert_eq!(cluster.found_and_mended(), ["dangling_entry"]);
}

#[test]
fn an_entry_that_lies_about_the_kind_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.name(DIRECTORY, "file", FILE, Kind::Fifo);
    assert_eq!(cluster.found_and_mended(), ["wrong_kind"]);
}

#[test]
fn an_entry_on_the_wrong_server_goes() {
    let mut cluster = Cluster::new();
    let (server, spot) = cluster.spot(DIRECTORY, "file");
    let entry = Entry {
        id: FILE,
        kind: Kind::File,
    };
    cluster.apply(ServerId((server.0 + 2) % 4), &Repair::PutEntry(spot, entry));
    assert_eq!(cluster.found_and_mended(), ["entry_without_bucket"]);
}

#[test]
fn a_directory_that_lost_its_name_gets_one_in_the_root() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "below");
    cluster.recount();
    assert_eq!(cluster.found_and_mended(), ["lost_inode"]);
    assert_eq!(cluster.nodes[&BELOW].3, Some(FileId::ROOT));
    let (server, spot) = cluster.spot(FileId::ROOT, &format!("lost+found.{:016x}", BELOW.0));
    let key = (server, FileId::ROOT, spot.name.hash(), spot.name);
    assert_eq!(cluster.entries[&key].id, BELOW);
}

#[test]
fn a_file_that_lost_its_last_name_keeps_its_data() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "file");
    cluster.lose(FileId::ROOT, "link");
    cluster.recount();
    assert_eq!(cluster.found_and_mended(), ["lost_inode"]);
    assert_eq!(cluster.nodes[&FILE].1, 1);
    assert_eq!(cluster.chunks.len(), 3);
}

#[test]
fn a_removed_file_lives_only_while_it_is_open() {
    let mut cluster = Cluster::new();
    let removed = id(2, 7);
    cluster
        .nodes
        .insert(removed, (Kind::File, 0, 10, None, true));
    cluster.chunk(removed, 0);
    assert_eq!(cluster.check(), []);
    cluster
        .nodes
        .insert(removed, (Kind::File, 0, 10, None, false));
    assert_eq!(cluster.found_and_mended(), ["orphan"]);
    assert!(!cluster.nodes.contains_key(&removed));
}

#[test]
fn a_wrong_count_of_links_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.nodes.get_mut(&FILE).unwrap().1 = 3;
    assert_eq!(cluster.found_and_mended(), ["wrong_links"]);
    assert_eq!(cluster.nodes[&FILE].1, 2);
}

#[test]
fn a_wrong_parent_is_set_right() {
    let mut cluster = Cluster::new();
    cluster.nodes.get_mut(&BELOW).unwrap().3 = Some(FileId::ROOT);
    assert_eq!(cluster.found_and_mended(), ["wrong_parent"]);
    assert_eq!(cluster.nodes[&BELOW].3, Some(DIRECTORY));
}

#[test]
fn of_two_names_of_a_directory_the_one_that_it_knows_stays() {
    let mut cluster = Cluster::new();
    cluster.name(FileId::ROOT, "again", BELOW, Kind::Directory);
    cluster.recount();
    assert_eq!(cluster.found_and_mended(), ["second_name"]);
    assert_eq!(cluster.nodes[&BELOW].3, Some(DIRECTORY));
}

#[test]
fn a_ring_of_directories_is_opened_once() {
    let mut cluster = Cluster::new();
    cluster.lose(FileId::ROOT, "directory");
    cluster.name(BELOW, "up", DIRECTORY, Kind::Directory);
    cluster.nodes.get_mut(&DIRECTORY).unwrap().3 = Some(BELOW);
    cluster.recount();
    assert_eq!(cluster.found_and_mended(), ["loop"]);
}

#[test]
fn wrong_counts_of_a_bucket_are_set_right() {
    let mut cluster = Cluster::new();
    let server = cluster.map.bucket_server(DIRECTORY, HALF);
    cluster
        .buckets
        .get_mut(&(server, DIRECTORY, HALF))
        .unwrap()
        .1 = 77;
    assert_eq!(cluster.found_and_mended(), ["wrong_counts"]);
}

#[test]
fn a_bucket_without_its_directory_goes_with_its_entries() {
    let mut cluster = Cluster::new();
    let gone = id(6, 6);
    cluster.add_directory(gone, FileId::ROOT, &[(BucketStart(0), 0)]);
    cluster.name(gone, "file", FILE, Kind::File);
    cluster.recount();
    cluster.nodes.remove(&gone);
    assert_eq!(cluster.found_and_mended(), ["stray_bucket"]);
}

#[test]
fn a_bucket_that_nobody_looks_for_goes() {
    let mut cluster = Cluster::new();
    let server = cluster.map.bucket_server(DIRECTORY, HALF);
    let wrong = ServerId((server.0 + 1) % 4);
    cluster.buckets.insert((wrong, DIRECTORY, HALF), (1, 0, 0));
    assert_eq!(cluster.found_and_mended(), ["misplaced_bucket"]);
}

#[test]
fn a_bucket_with_an_impossible_range_goes() {
    for (start, level) in [
        (BucketStart(3), 1),
        (BucketStart(1 << 63), 0),
        (BucketStart(0), 200),
    ] {
        let mut cluster = Cluster::new();
        let wrong = ServerId((cluster.map.bucket_server(DIRECTORY, start).0 + 1) % 4);
        let listing = Listing {
            server: wrong,
            records: vec![Inspected::Header {
                directory: DIRECTORY,
                bucket: start,
                header: header(level, 0, 0),
            }],
        };
        let mut listings = cluster.listings();
        listings.push(listing);
        let findings = check(&Records::new(&cluster.map, &listings));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].fault, Fault::StrayBucket(DIRECTORY, start));
        cluster.recount();
    }
}

#[test]
fn missing_and_overlapping_buckets_are_reported() {
    let mut cluster = Cluster::new();
    let server = cluster.map.bucket_server(DIRECTORY, HALF);
    cluster.buckets.remove(&(server, DIRECTORY, HALF));
    let kinds: Vec<_> = cluster.check().iter().map(|f| f.fault.kind()).collect();
    assert!(kinds.contains(&"missing_bucket"), "{kinds:?}");

    let mut cluster = Cluster::new();
    let home = cluster.map.home(DIRECTORY);
    cluster
        .buckets
        .get_mut(&(home, DIRECTORY, BucketStart(0)))
        .unwrap()
        .0 = 0;
    let kinds: Vec<_> = cluster.check().iter().map(|f| f.fault.kind()).collect();
    assert!(kinds.contains(&"overlapping_bucket"), "{kinds:?}");
}

#[test]
fn chunks_without_a_file_or_beyond_its_end_or_elsewhere_go() {
    let mut cluster = Cluster::new();
    cluster.chunk(id(7, 70), 4);
    assert_eq!(cluster.found_and_mended(), ["chunk_without_file"]);
    cluster.chunk(FILE, 3);
    assert_eq!(cluster.found_and_mended(), ["chunk_beyond_end"]);
    let chunk = ChunkId {
        file: FILE,
        index: 1,
    };
    let wrong = ServerId((cluster.map.chunk_server(chunk).0 + 1) % 4);
    cluster.chunks.insert((wrong, chunk), 1);
    assert_eq!(cluster.found_and_mended(), ["misplaced_chunk"]);
    assert_eq!(cluster.chunks.len(), 3);
}

#[test]
fn an_open_file_may_be_written_ahead_of_its_size() {
    let mut cluster = Cluster::new();
    cluster.chunk(FILE, 3);
    cluster.nodes.get_mut(&FILE).unwrap().4 = true;
    assert_eq!(cluster.check(), []);
}

#[test]
fn an_inode_away_from_home_and_a_missing_root_are_reported() {
    let cluster = Cluster::new();
    let mut listings = cluster.listings();
    let root_home = cluster.map.home(FileId::ROOT).0 as usize;
    let position = listings[root_home]
        .records
        .iter()
        .position(|record| matches!(record, Inspected::Inode { id, .. } if *id == FileId::ROOT))
        .unwrap();
    let root = listings[root_home].records.remove(position);
    listings[(root_home + 1) % 4].records.push(root);
    let findings = check(&Records::new(&cluster.map, &listings));
    let kinds: Vec<_> = findings.iter().map(|f| f.fault.kind()).collect();
    assert!(
        kinds.contains(&"no_root") && kinds.contains(&"misplaced_inode"),
        "{kinds:?}"
    );
}

#[test]
fn many_kinds_of_damage_at_once_are_mended_together() {
    let mut cluster = Cluster::new();
    cluster.lose(DIRECTORY, "below");
    cluster.name(DIRECTORY, "ghost", id(5, 5), Kind::File);
    cluster.nodes.get_mut(&FILE).unwrap().1 = 9;
    cluster.chunk(id(7, 70), 4);
    assert!(cluster.found_and_mended().len() >= 4);
}
