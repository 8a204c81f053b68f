//! Each kind of damage is planted in a live cluster: the first run finds it and ends with 1, the
//! run after the repair is clean.

use crate::common::{Cluster, write};
use bytes::Bytes;
use futago_base::{
    BucketStart, ChunkId, FileId, Kind, Name, Partition, Payload, ServerId, record::Entry,
};
use futago_client::Context;
use futago_node::{Futago, Options};
use futago_wire::{
    Request, Spot,
    step::{Damage, Repair},
};

/// A cluster with a directory and a file in it, and a client that may do damage.
struct Patient {
    cluster: Cluster,
    client: Futago,
    directory: FileId,
    file: FileId,
}

impl Patient {
    fn new() -> Self {
        let cluster = Cluster::up(&["--servers", "4", "--accept-damage"]);
        let local = cluster.path("directory");
        std::fs::create_dir(&local).unwrap();
        write(&local.join("file"), b"contents");
        cluster
            .command(&["put", "-r", local.to_str().unwrap(), "/"])
            .assert()
            .success();
        let client = Futago::connect(&cluster.load(), Options::default()).unwrap();
        let mut patient = Self {
            cluster,
            client,
            directory: FileId::ROOT,
            file: FileId::ROOT,
        };
        patient.directory = patient.id("/directory");
        patient.file = patient.id("/directory/file");
        assert_eq!(patient.fsck(&[]), (0, Vec::new()));
        patient
    }

    fn id(&self, path: &'static str) -> FileId {
        let found = self
            .client
            .run_blocking(move |client| async move { client.resolve(path.as_bytes(), true).await });
        found.unwrap().unwrap().attributes.id
    }

    fn spot(&self, directory: FileId, name: &'static str) -> Spot {
        Spot {
            directory,
            bucket: BucketStart(0),
            name: Name::new(Bytes::from_static(name.as_bytes())).unwrap(),
        }
    }

    fn plant(&self, server: ServerId, damage: Damage) {
        let request = Request::Repair(Repair::Plant(Box::new(damage)));
        let answer = self.client.run_blocking(move |client| async move {
            let context = client.context();
            let sequence = context.next_sequence();
            context
                .call(server, sequence, request, Payload::empty())
                .await
        });
        answer.unwrap().unwrap();
    }

    fn home(&self, id: FileId) -> ServerId {
        self.cluster.load().map().unwrap().home(id)
    }

    /// The exit code and the kinds of what was found.
    fn fsck(&self, arguments: &[&str]) -> (i32, Vec<String>) {
        let (code, report) = self.cluster.json(&[&["fsck"], arguments].concat());
        assert_eq!(report["remaining"].as_array().unwrap().len(), 0, "{report}");
        let findings = report["findings"].as_array().unwrap().iter();
        (
            code,
            findings
                .map(|finding| finding["kind"].as_str().unwrap().to_owned())
                .collect(),
        )
    }

    /// Plants damage and checks that it is found, mended, and gone.
    fn suffers(&self, server: ServerId, damage: Damage, kind: &str) {
        let shown = format!("{damage:?}");
        self.plant(server, damage);
        let (code, kinds) = self.fsck(&["--repair"]);
        assert_eq!(code, 1, "{shown}");
        assert!(
            kinds.iter().any(|found| found == kind),
            "{shown}: {kinds:?}"
        );
        assert_eq!(
            self.fsck(&[]),
            (0, Vec::new()),
            "after the repair of {shown}"
        );
    }
}

fn nobody(partition: u16) -> FileId {
    FileId::new(Partition(partition), 99_999)
}

#[test]
fn damage_of_names_is_mended() {
    let patient = Patient::new();
    let home = patient.home(patient.directory);
    let ghost = Entry {
        id: nobody(5),
        kind: Kind::File,
    };
    let spot = patient.spot(patient.directory, "ghost");
    patient.suffers(home, Damage::DanglingEntry(spot, ghost), "dangling_entry");
    let spot = patient.spot(patient.directory, "file");
    patient.suffers(home, Damage::LostEntry(spot), "lost_inode");
    let lost: &'static str = format!("/lost+found.{:016x}", patient.file.0).leak();
    patient
        .cluster
        .command(&["cat", lost])
        .assert()
        .success()
        .stdout("contents");
    let counts = Damage::Counts(patient.directory, BucketStart(0), 77);
    patient.suffers(home, counts, "wrong_counts");
}

#[test]
fn damage_of_nodes_is_mended() {
    let patient = Patient::new();
    let file_home = patient.home(patient.file);
    patient.suffers(file_home, Damage::Links(patient.file, 9), "wrong_links");
    let directory_home = patient.home(patient.directory);
    let parent = Damage::Parent(patient.directory, nobody(3));
    patient.suffers(directory_home, parent, "wrong_parent");
    for kind in [Kind::File, Kind::Directory] {
        let id = FileId::new(Partition(6), 70_000 + kind as u64);
        patient.suffers(patient.home(id), Damage::Inode(id, kind), "lost_inode");
    }
}

#[test]
fn damage_of_buckets_and_chunks_is_mended() {
    let patient = Patient::new();
    let map = patient.cluster.load().map().unwrap();
    let gone = nobody(7);
    let bucket = Damage::Bucket(gone, BucketStart(0));
    patient.suffers(
        map.bucket_server(gone, BucketStart(0)),
        bucket,
        "stray_bucket",
    );
    let beyond = ChunkId {
        file: patient.file,
        index: 5,
    };
    patient.suffers(
        map.chunk_server(beyond),
        Damage::Chunk(beyond),
        "chunk_beyond_end",
    );
    let stray = ChunkId {
        file: gone,
        index: 1,
    };
    patient.suffers(
        map.chunk_server(stray),
        Damage::Chunk(stray),
        "chunk_without_file",
    );
}

#[test]
fn a_server_that_was_not_started_for_tests_takes_no_damage() {
    let cluster = Cluster::up(&[]);
    let client = Futago::connect(&cluster.load(), Options::default()).unwrap();
    let damage = Box::new(Damage::Links(FileId::ROOT, 3));
    let answer = client.run_blocking(move |client| async move {
        let context = client.context();
        let sequence = context.next_sequence();
        let request = Request::Repair(Repair::Plant(damage));
        context
            .call(ServerId(0), sequence, request, Payload::empty())
            .await
    });
    assert_eq!(
        answer.unwrap().unwrap_err(),
        futago_base::Errno::EPERM.into()
    );
}
