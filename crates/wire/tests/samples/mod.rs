//! One message of every kind.

use bytes::Bytes;
use futago_base::{
    BucketStart, Duration, FileId, Incarnation, Kind, Name, NameHash, Partition, Payload, ServerId,
    SessionId, Time, TransactionId,
    record::{Door, Entry, Truncation, Truncations},
    search::{Case, Comparison, Kinds, Test, Tests},
};
use futago_wire::{
    Body, CacheReply, CacheRequest, ContactMessage, ContactReply, CopySource, Failure, Frame,
    Header, Holder, Lease, LeaseRecall, MessageKind, NewContent, NewNode, Peer, PeerAnswer,
    PeerChange, Push, Question, Relayed, RelayedFact, Reply, Request, Restored, Spot, Step,
    search::{Detail, FoundEntry, Scan, ScanEnd, Scanned, Subdirectory},
};

fn header(kind: MessageKind) -> Header {
    Header {
        kind,
        server: ServerId(3),
        session: SessionId(0x0102_0304_0506_0708),
        sequence: 11,
        acknowledged: 12,
        clock: Time(15),
        map_epoch: 10,
        features: 19,
    }
}

fn frame(body: Body, data: &'static [u8]) -> Frame {
    let header = header(body.kind());
    Frame {
        header,
        body,
        payload: Payload::from(Bytes::from_static(data)),
    }
}

fn spot() -> Spot {
    let name = Name::new(&b"na\xffme"[..]).expect("a name");
    Spot {
        directory: FileId::new(Partition(3), 7),
        bucket: BucketStart(1 << 62),
        name,
    }
}

fn create() -> Request {
    let content = NewContent::File {
        chunk_bytes: 1 << 20,
    };
    let node = NewNode {
        content,
        mode: 0o640,
        uid: 1000,
        gid: u32::MAX - 1,
    };
    Request::Create {
        at: spot(),
        node,
        exclusive: true,
        open: true,
    }
}

fn write() -> Request {
    Request::Write {
        id: FileId(5),
        offset: 1,
        end: 8,
        covered_from: 1,
        kill_privileges: false,
        written: None,
        heard: None,
    }
}

fn prepare() -> Request {
    let entry = Entry {
        id: FileId(5),
        kind: Kind::File,
    };
    Request::Prepare {
        transaction: TransactionId {
            session: SessionId(1),
            sequence: 2,
        },
        age: Time(3),
        status_server: ServerId(4),
        participants: vec![ServerId(4), ServerId(5)],
        steps: vec![
            Step::RemoveEntry {
                at: spot(),
                expected: entry,
            },
            Step::PutEntry {
                at: spot(),
                entry,
                replaces: None,
            },
            Step::Touch(entry.id),
        ],
    }
}

fn extent() -> Reply {
    let steps = vec![Truncation {
        sequence: 2,
        size: 3,
    }];
    let truncations = Truncations { latest: 2, steps };
    Reply::Extent {
        offset: 1,
        stored: 2,
        size: 3,
        chunk_bytes: 4096,
        reach: 1 << 21,
        writable: 4,
        truncations,
        state: None,
    }
}

fn find() -> Request {
    Request::Find {
        scans: vec![Scan {
            directory: spot().directory,
            bucket: spot().bucket,
            after: NameHash(5),
            matches: true,
            subdirectories: false,
        }],
        tests: Tests(vec![
            Test::Name {
                glob: Bytes::from_static(b"*.\xff"),
                case: Case::Ignored,
            },
            Test::Kind(Kinds::default().with(Kind::File).with(Kind::Symlink)),
            Test::Size {
                unit_bytes: 512,
                units: Comparison::More(3),
            },
            Test::Owner(1000),
        ]),
        detail: Detail::Name,
        entries_max: 2048,
    }
}

fn scanned() -> Reply {
    let id = FileId(3);
    let found = FoundEntry {
        name: spot().name,
        entry: Entry {
            id,
            kind: Kind::File,
        },
        attributes: None,
    };
    let name = spot().name;
    Reply::Scanned(vec![
        Scanned {
            matches: 2,
            found: vec![found.clone()],
            undecided: vec![found],
            subdirectories: vec![Subdirectory { name, id }],
            end: ScanEnd::After {
                after: NameHash(9),
                level: 2,
            },
        },
        Scanned::nothing(ScanEnd::Failed(Failure::NoBucket)),
    ])
}

/// One message of every kind, with the name of its golden file.
pub fn frames() -> Vec<(&'static str, Frame)> {
    let transfer = PeerChange::Transfer {
        directory: FileId(1),
        bucket: BucketStart(2),
        entries: vec![(
            spot().name,
            Entry {
                id: FileId(3),
                kind: Kind::Symlink,
            },
        )],
        header: None,
    };
    let deliver = Peer::Deliver {
        sender: ServerId(1),
        from: Incarnation(4),
        to: Some(Incarnation(5)),
        number: 2,
        change: transfer,
    };
    let delivered = PeerAnswer::Delivered {
        receiver: ServerId(1),
        by: Incarnation(5),
        from: Incarnation(4),
        number: 2,
    };
    let session = SessionId(3);
    let fence = Peer::Fence {
        sender: ServerId(1),
        session,
    };
    let fenced = PeerAnswer::Fenced {
        receiver: ServerId(2),
        session,
    };
    let mut frames = contact_frames();
    frames.extend(cache_frames());
    frames.extend([
        ("create", frame(Body::Request(create()), b"first data")),
        ("write", frame(Body::Request(write()), b"payload")),
        ("prepare", frame(Body::Request(prepare()), b"")),
        ("extent", frame(Body::Outcome(Ok(extent())), b"read data")),
        ("find", frame(Body::Request(find()), b"")),
        ("scanned", frame(Body::Outcome(Ok(scanned())), b"")),
        (
            "moved",
            frame(
                Body::Outcome(Err(Failure::Moved {
                    bucket: BucketStart(0),
                    level: 3,
                })),
                b"",
            ),
        ),
        ("deliver", frame(Body::Peer(deliver), b"")),
        ("delivered", frame(Body::PeerAnswer(delivered), b"")),
        ("fence", frame(Body::Peer(fence), b"")),
        ("fenced", frame(Body::PeerAnswer(fenced), b"")),
        ("credits", frame(Body::Push(Push::Credits(64)), b"")),
    ]);
    frames
}

/// The messages about and between clients that share their caches.
fn cache_frames() -> Vec<(&'static str, Frame)> {
    let door = Door {
        host: 77,
        address: Bytes::from_static(b"tcp:10.0.0.1:4000"),
    };
    let forget_copies = Request::ForgetCopies {
        id: FileId(9),
        first: 9,
        pieces: 2,
    };
    let end_exclusive = Request::EndExclusive {
        id: FileId(9),
        door: door.clone(),
    };
    let still_writing = Request::StillWriting(vec![FileId(9), FileId(10)]);
    let find_copies = Request::FindCopies {
        id: FileId(9),
        first: 4,
        pieces: 16,
        door: door.clone(),
        failed: vec![SessionId(6)],
    };
    let copies = Reply::Copies {
        holders: vec![Holder {
            session: SessionId(5),
            door,
        }],
        sources: vec![
            None,
            Some(CopySource {
                holder: 0,
                depth: 3,
            }),
        ],
    };
    let read = CacheRequest::Read {
        file: FileId(9),
        offset: 4 << 20,
        length: 1 << 20,
        depth: 3,
    };
    let data = b"some data";
    let copy = CacheReply::of(&Payload::from(Bytes::from_static(data)));
    vec![
        ("find_copies", frame(Body::Request(find_copies), b"")),
        ("forget_copies", frame(Body::Request(forget_copies), b"")),
        ("end_exclusive", frame(Body::Request(end_exclusive), b"")),
        ("still_writing", frame(Body::Request(still_writing), b"")),
        ("copies", frame(Body::Outcome(Ok(copies)), b"")),
        ("cache_read", frame(Body::CacheRequest(read), b"")),
        ("cache_copy", frame(Body::CacheReply(copy), data)),
    ]
}

/// The messages of contact servers.
fn contact_frames() -> Vec<(&'static str, Frame)> {
    let session = SessionId(3);
    let ask = Peer::Contact {
        sender: ServerId(1),
        session,
        number: 4,
        introduces: true,
        message: ContactMessage::Ask(Question::Entry(spot())),
    };
    let recall = Peer::Recall {
        sender: ServerId(2),
        session,
        recalls: vec![LeaseRecall {
            lease: Lease {
                node: FileId(1),
                number: 4,
            },
            since: 3,
        }],
    };
    let fact = RelayedFact::Entry {
        entry: None,
        state: None,
    };
    let granted = PeerAnswer::Contact {
        receiver: ServerId(2),
        session,
        number: 4,
        reply: ContactReply::Granted(fact),
    };
    let relayed = Relayed {
        fact,
        lasts: Duration::from_secs(15),
    };
    let relayed = Reply::Relayed(Some(Box::new(relayed)));
    let consult = Request::Consult(Question::State(FileId(9)));
    let next_restorations = Request::NextRestorations {
        ended: vec![Restored {
            file: FileId(9),
            error: Some(futago_base::Errno::EREMOTEIO),
        }],
        files_max: 4,
    };
    let wanted = Reply::Wanted(vec![FileId(10)]);
    vec![
        ("consult", frame(Body::Request(consult), b"")),
        (
            "next_restorations",
            frame(Body::Request(next_restorations), b""),
        ),
        (
            "get_locations",
            frame(Body::Request(Request::GetLocations { known: 5 }), b""),
        ),
        ("wanted", frame(Body::Outcome(Ok(wanted)), b"")),
        ("relayed", frame(Body::Outcome(Ok(relayed)), b"")),
        ("ask", frame(Body::Peer(ask), b"")),
        ("recall", frame(Body::Peer(recall), b"")),
        ("granted", frame(Body::PeerAnswer(granted), b"")),
    ]
}
