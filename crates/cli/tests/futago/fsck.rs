//! Each kind of damage is planted in a live cluster: the first run finds it and ends with 1, the
//! run after the repair is clean, and all files are still there.

use crate::common::{Cluster, write};
use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Kind, Name, Partition, Payload, ServerId,
    record::{Entry, Header, Inode},
};
use futago_client::Context;
use futago_lab::check::FaultKind;
use futago_node::{Futago, Options};
use futago_wire::{
    Reply, Request,
    inspection::{Inspected, InspectedKey, Repair},
};
use strum::IntoEnumIterator;

const FIRST: BucketStart = BucketStart(0);
const HALF: BucketStart = BucketStart(1 << 62);
const CONTENTS: &[u8] = b"contents";

/// A cluster with a directory of its own for each kind of damage, and a client that does the
/// damage.
struct Patient {
    cluster: Cluster,
    client: Futago,
    map: ClusterMap,
}

/// The object to damage.
#[derive(Clone, Copy)]
struct Victim {
    /// A directory with the file `file` and the directory `below`.
    directory: FileId,
    file: FileId,
    below: FileId,
    /// Something that does not exist.
    nobody: FileId,
}

type Changes = Vec<(ServerId, Repair)>;

fn path_of(kind: FaultKind) -> &'static str {
    kind.into()
}

impl Patient {
    fn new() -> Self {
        let cluster = Cluster::up(&["--servers", "4"]);
        for kind in FaultKind::iter() {
            let local = cluster.path("local").join(path_of(kind));
            std::fs::create_dir_all(local.join("below")).unwrap();
            write(&local.join("file"), CONTENTS);
            let local = local.to_str().unwrap();
            cluster
                .command(&["put", "-r", local, "/"])
                .assert()
                .success();
        }
        let client = Futago::connect(&cluster.load(), Options::default()).unwrap();
        let map = cluster.load().map().unwrap();
        Self {
            cluster,
            client,
            map,
        }
    }

    fn id(&self, path: String) -> FileId {
        let found = self
            .client
            .run_blocking(async |client| client.resolve(path.as_bytes(), true).await);
        found.unwrap().unwrap().attributes.id
    }

    fn victim(&self, kind: FaultKind) -> Victim {
        let path = path_of(kind);
        let directory = self.id(format!("/{path}"));
        Victim {
            directory,
            file: self.id(format!("/{path}/file")),
            below: self.id(format!("/{path}/below")),
            nobody: FileId::new(Partition(kind as u16), 99_999),
        }
    }

    fn victims(&self) -> Vec<(FaultKind, Victim)> {
        FaultKind::iter()
            .map(|kind| (kind, self.victim(kind)))
            .collect()
    }

    fn ask(&self, server: ServerId, request: Request) -> Reply {
        let answer = self.client.run_blocking(async |client| {
            let context = client.context();
            let sequence = context.next_sequence();
            let payload = Payload::empty();
            context.call(server, sequence, request, payload).await
        });
        answer.unwrap().unwrap().0
    }

    /// A record as it is now.
    fn record(&self, server: ServerId, key: InspectedKey) -> Inspected {
        let mut after = None;
        loop {
            let request = Request::Inspect {
                after,
                records_max: u32::MAX,
            };
            let Reply::Records { records, next } = self.ask(server, request) else {
                panic!("{server} lists no records");
            };
            if let Some(found) = records.into_iter().find(|record| record.key() == key) {
                return found;
            }
            assert!(next.is_some(), "no {key:?} at {server}");
            after = next;
        }
    }

    fn inode(&self, id: FileId) -> Inode {
        match self.record(self.map.home(id), InspectedKey::Inode(id)) {
            Inspected::Inode { inode, .. } => *inode,
            other => panic!("{other:?}"),
        }
    }

    fn header(&self, directory: FileId) -> Header {
        let key = InspectedKey::Header(directory, FIRST);
        match self.record(self.map.home(directory), key) {
            Inspected::Header { header, .. } => header,
            other => panic!("{other:?}"),
        }
    }

    fn beside(&self, server: ServerId) -> ServerId {
        ServerId((server.0 + 1) % self.map.server_count())
    }

    /// Takes a record from the server where it belongs to another.
    fn misplace(&self, home: ServerId, key: InspectedKey) -> Changes {
        let record = self.record(home, key.clone());
        vec![
            (home, Repair::Remove(key)),
            (self.beside(home), Repair::Put(record)),
        ]
    }

    fn put_chunk(&self, server: ServerId, chunk: ChunkId) -> Changes {
        let record = Inspected::Chunk { chunk, end: 1 };
        vec![(server, Repair::Put(record))]
    }

    /// The changes that cause this kind of damage.
    fn damage(&self, kind: FaultKind, victim: Victim) -> Changes {
        match kind {
            FaultKind::NoRoot
            | FaultKind::MisplacedInode
            | FaultKind::LostInode
            | FaultKind::Orphan
            | FaultKind::WrongLinks => self.damage_of_inodes(kind, victim),
            FaultKind::DanglingEntry
            | FaultKind::WrongKind
            | FaultKind::EntryWithoutBucket
            | FaultKind::SecondName
            | FaultKind::WrongParent
            | FaultKind::Loop => self.damage_of_names(kind, victim),
            FaultKind::MissingBucket
            | FaultKind::OverlappingBucket
            | FaultKind::StrayBucket
            | FaultKind::MisplacedBucket
            | FaultKind::WrongCounts => self.damage_of_buckets(kind, victim),
            FaultKind::ChunkWithoutFile | FaultKind::ChunkBeyondEnd | FaultKind::MisplacedChunk => {
                self.damage_of_chunks(kind, victim)
            }
            FaultKind::UnservedChunk | FaultKind::StrayAdmission | FaultKind::MissedTruncation => {
                self.damage_of_admissions(kind, victim.file)
            }
        }
    }

    fn damage_of_inodes(&self, kind: FaultKind, victim: Victim) -> Changes {
        let Victim { file, nobody, .. } = victim;
        match kind {
            FaultKind::NoRoot => vec![(
                self.map.home(FileId::ROOT),
                Repair::Remove(InspectedKey::Inode(FileId::ROOT)),
            )],
            FaultKind::MisplacedInode => {
                self.misplace(self.map.home(file), InspectedKey::Inode(file))
            }
            FaultKind::LostInode => vec![(
                self.map.home(victim.directory),
                Repair::Remove(InspectedKey::Entry(victim.directory, name("file"))),
            )],
            FaultKind::Orphan => {
                let inode = Inode {
                    links: 0,
                    ..self.inode(file)
                };
                let record = Inspected::Inode {
                    id: nobody,
                    inode: Box::new(inode),
                    open: false,
                };
                vec![(self.map.home(nobody), Repair::Put(record))]
            }
            _ => vec![(self.map.home(file), Repair::SetLinks(file, 9))],
        }
    }

    fn damage_of_names(&self, kind: FaultKind, victim: Victim) -> Changes {
        let Victim {
            directory,
            file,
            below,
            nobody,
        } = victim;
        let home = self.map.home(directory);
        match kind {
            FaultKind::DanglingEntry => {
                vec![(home, put_entry(directory, "ghost", nobody, Kind::File))]
            }
            FaultKind::WrongKind => vec![(home, put_entry(directory, "file", file, Kind::Fifo))],
            FaultKind::EntryWithoutBucket => {
                self.misplace(home, InspectedKey::Entry(directory, name("file")))
            }
            FaultKind::SecondName => vec![(
                self.map.home(FileId::ROOT),
                put_entry(FileId::ROOT, "again", below, Kind::Directory),
            )],
            FaultKind::Loop => vec![
                (
                    home,
                    Repair::Remove(InspectedKey::Entry(directory, name("below"))),
                ),
                (
                    self.map.home(below),
                    put_entry(below, "below", below, Kind::Directory),
                ),
                (self.map.home(below), Repair::SetParent(below, below)),
            ],
            _ => vec![(self.map.home(below), Repair::SetParent(below, nobody))],
        }
    }

    fn damage_of_buckets(&self, kind: FaultKind, victim: Victim) -> Changes {
        let Victim {
            directory, nobody, ..
        } = victim;
        let home = self.map.home(directory);
        let header = self.header(directory);
        match kind {
            FaultKind::MissingBucket => {
                vec![(home, Repair::Remove(InspectedKey::Header(directory, FIRST)))]
            }
            FaultKind::OverlappingBucket => {
                let half = Header { level: 1, ..header };
                let server = self.map.bucket_server(directory, HALF);
                vec![(server, put_header(directory, HALF, half))]
            }
            FaultKind::StrayBucket => {
                vec![(self.map.home(nobody), put_header(nobody, FIRST, header))]
            }
            FaultKind::MisplacedBucket => {
                vec![(self.beside(home), put_header(directory, FIRST, header))]
            }
            _ => {
                let entries = 77;
                vec![(
                    home,
                    put_header(directory, FIRST, Header { entries, ..header }),
                )]
            }
        }
    }

    fn damage_of_chunks(&self, kind: FaultKind, victim: Victim) -> Changes {
        let chunk = |file, index| ChunkId { file, index };
        let in_place = |chunk| self.put_chunk(self.map.chunk_server(chunk), chunk);
        match kind {
            FaultKind::ChunkWithoutFile => in_place(chunk(victim.nobody, 1)),
            FaultKind::ChunkBeyondEnd => in_place(chunk(victim.file, 5)),
            _ => {
                let chunk = chunk(victim.file, 0);
                self.put_chunk(self.beside(self.map.chunk_server(chunk)), chunk)
            }
        }
    }

    fn damage_of_admissions(&self, kind: FaultKind, file: FileId) -> Changes {
        let home = self.map.home(file);
        let admitted = Repair::Put(Inspected::Admitted { file, heard: 0 });
        if kind == FaultKind::StrayAdmission {
            return vec![(self.beside(home), admitted)];
        }
        let mut inode = self.inode(file);
        let (chunk_bytes, chunk) = (u64::from(inode.chunk_bytes), ChunkId { file, index: 1 });
        inode.reach = 2 * chunk_bytes;
        let server = self.map.chunk_server(chunk);
        let mut changes = if kind == FaultKind::UnservedChunk {
            inode.size = chunk_bytes + 1;
            self.put_chunk(server, chunk)
        } else {
            inode.truncations.truncate(inode.size);
            vec![(server, admitted)]
        };
        let inode = Box::new(inode);
        let id = file;
        let open = false;
        changes.push((home, Repair::Put(Inspected::Inode { id, inode, open })));
        changes
    }

    /// The exit code and the kinds of what was found.
    fn fsck(&self, arguments: &[&str]) -> (i32, Vec<String>) {
        let (code, report) = self.cluster.json(&[&["fsck"], arguments].concat());
        assert_eq!(report["remaining"].as_array().unwrap().len(), 0, "{report}");
        let findings = report["findings"].as_array().unwrap().iter();
        let kinds = findings.map(|finding| finding["kind"].as_str().unwrap().to_owned());
        (code, kinds.collect())
    }

    /// Plants damage and checks that it is found, mended, and gone.
    fn recovers_from(&self, kinds: &[FaultKind], settle: &[&str]) {
        let damage: Vec<Changes> = kinds
            .iter()
            .map(|&kind| self.damage(kind, self.victim(kind)))
            .collect();
        for (server, change) in damage.into_iter().flatten() {
            self.ask(server, Request::Repair(change));
        }
        let (code, found) = self.fsck(settle);
        assert_eq!(code, 1, "{kinds:?}");
        for kind in kinds {
            let kind = path_of(*kind);
            assert!(found.iter().any(|found| found == kind), "{kind}: {found:?}");
        }
        let repair = [&["--repair"], settle].concat();
        assert_eq!(self.fsck(&repair), (1, found), "{kinds:?}");
        let clean = (0, Vec::new());
        assert_eq!(self.fsck(settle), clean, "after the repair of {kinds:?}");
    }

    /// All files and directories are there, if not under their names.
    fn assert_whole(&self, victims: &[(FaultKind, Victim)]) {
        let local = self.cluster.path("after");
        self.cluster
            .command(&["get", "-r", "/", local.to_str().unwrap()])
            .assert()
            .success();
        for (kind, victim) in victims {
            let named = local.join(path_of(*kind));
            let lost = |id: FileId| local.join(format!("lost+found.{:016x}", id.0));
            let file = match kind {
                FaultKind::LostInode => lost(victim.file),
                _ => named.join("file"),
            };
            let below = match kind {
                FaultKind::Loop => lost(victim.below),
                _ => named.join("below"),
            };
            let contents = std::fs::read(&file).unwrap();
            let (first, rest) = contents.split_at(CONTENTS.len());
            assert_eq!(first, CONTENTS, "{file:?}");
            let is_longer = *kind == FaultKind::UnservedChunk;
            assert_eq!(!rest.is_empty(), is_longer, "{file:?}");
            assert!(rest.iter().all(|byte| *byte == 0), "{file:?}");
            assert!(below.is_dir(), "{below:?}");
        }
    }
}

fn name(text: &'static str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn put_entry(directory: FileId, text: &'static str, id: FileId, kind: Kind) -> Repair {
    Repair::Put(Inspected::Entry {
        directory,
        name: name(text),
        entry: Entry { id, kind },
    })
}

fn put_header(directory: FileId, bucket: BucketStart, header: Header) -> Repair {
    Repair::Put(Inspected::Header {
        directory,
        bucket,
        header,
    })
}

#[test]
fn every_kind_of_damage_is_mended() {
    let patient = Patient::new();
    let victims = patient.victims();
    for kind in FaultKind::iter() {
        patient.recovers_from(&[kind], &["--settle", "0"]);
    }
    patient.assert_whole(&victims);
}

#[test]
fn all_kinds_of_damage_at_once_are_mended() {
    let patient = Patient::new();
    let victims = patient.victims();
    let kinds: Vec<FaultKind> = FaultKind::iter().collect();
    patient.recovers_from(&kinds, &[]);
    patient.assert_whole(&victims);
}

#[test]
fn a_server_takes_no_record_that_it_could_not_work_with() {
    let cluster = Cluster::up(&[]);
    let client = Futago::connect(&cluster.load(), Options::default()).unwrap();
    let record = Inspected::Chunk {
        chunk: ChunkId {
            file: FileId::ROOT,
            index: 0,
        },
        end: u32::MAX,
    };
    let answer = client.run_blocking(async |client| {
        let context = client.context();
        let sequence = context.next_sequence();
        let request = Request::Repair(Repair::Put(record));
        context
            .call(ServerId(0), sequence, request, Payload::empty())
            .await
    });
    assert_eq!(
        answer.unwrap().unwrap_err(),
        futago_base::Errno::EINVAL.into()
    );
}
