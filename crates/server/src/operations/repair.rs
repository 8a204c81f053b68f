//! Mends one piece of damage that a check has found, or plants one for a test.

use crate::answer::Result;
use crate::state::bucket::{Place, end_of};
use crate::turn::Turn;
use bytes::Bytes;
use futago_base::{
    BucketStart, Errno, FileId, Key, Kind, Name, NameHash, Payload, View,
    record::{Entry, Header},
};
use futago_wire::{
    NewDirectory, Reply, Spot,
    step::{Damage, Repair},
};

pub fn run<V: View>(turn: &mut Turn<'_, V>, repair: &Repair) -> Result {
    match repair {
        Repair::RemoveEntry(at) => turn.install_entry(at, None),
        Repair::RemoveInode(id) => {
            turn.remove_file(*id);
        }
        Repair::PutEntry(at, entry) => turn.install_entry(at, Some(*entry)),
        Repair::SetLinks(id, links) => turn.state.update_inode(*id, |inode| inode.links = *links),
        Repair::SetParent(id, parent) => turn.install_parent(*id, *parent),
        Repair::RecountBucket(directory, bucket) => recount(turn, *directory, *bucket),
        Repair::RemoveBucket(directory, bucket) => remove_bucket(turn, *directory, *bucket),
        Repair::RemoveChunks(chunks) => {
            for chunk in chunks {
                turn.remove_chunk(*chunk);
            }
        }
        Repair::Plant(_) if !turn.server.config().accept_damage => {
            return Err(Errno::EPERM.into());
        }
        Repair::Plant(damage) => plant(turn, damage),
    }
    Ok(Reply::Done.into())
}

fn recount<V: View>(turn: &mut Turn<'_, V>, directory: FileId, bucket: BucketStart) {
    let Some(mut header) = turn.state.header(directory, bucket) else {
        return;
    };
    let entries = turn.entries_between(directory, NameHash(bucket.0), end_of(bucket, &header));
    header.entries = entries.len() as u64;
    header.subdirectories = entries
        .iter()
        .filter(|(_, entry)| entry.kind == Kind::Directory)
        .count() as u32;
    turn.state.put(Key::Header(directory, bucket), header);
}

fn remove_bucket<V: View>(turn: &mut Turn<'_, V>, directory: FileId, bucket: BucketStart) {
    let Some(header) = turn.state.header(directory, bucket) else {
        return;
    };
    let entries = turn.entries_between(directory, NameHash(bucket.0), end_of(bucket, &header));
    for (name, _) in entries {
        turn.state.delete(Key::Entry(directory, name.hash(), name));
    }
    turn.state.delete(Key::Header(directory, bucket));
}

fn plant<V: View>(turn: &mut Turn<'_, V>, damage: &Damage) {
    match damage {
        Damage::DanglingEntry(at, entry) => turn.set_entry(&place(at), Some(*entry)),
        Damage::LostEntry(at) => turn.set_entry(&place(at), None),
        Damage::Links(id, links) => turn.state.update_inode(*id, |inode| inode.links = *links),
        Damage::Parent(id, parent) => turn.install_parent(*id, *parent),
        Damage::Counts(directory, bucket, entries) => {
            if let Some(mut header) = turn.state.header(*directory, *bucket) {
                header.entries = *entries;
                turn.state.put(Key::Header(*directory, *bucket), header);
            }
        }
        Damage::Chunk(chunk) => {
            let byte = Payload::from(Bytes::from_static(b"x"));
            turn.write_chunk(*chunk, 0, byte);
        }
        Damage::Inode(id, kind) => plant_inode(turn, *id, *kind),
        Damage::Bucket(directory, bucket) => plant_bucket(turn, *directory, *bucket),
    }
}

fn place(at: &Spot) -> Place {
    Place {
        directory: at.directory,
        bucket: at.bucket,
        hash: at.name.hash(),
        name: at.name.clone(),
    }
}

fn plant_inode<V: View>(turn: &mut Turn<'_, V>, id: FileId, kind: Kind) {
    let new = NewDirectory {
        home: id.home(),
        parent: FileId::ROOT,
        mode: 0o755,
        uid: 0,
        gid: 0,
        depth: 1,
    };
    turn.put_directory(id, &new);
    if kind != Kind::Directory {
        turn.state.delete(Key::Header(id, BucketStart(0)));
        turn.state.update_inode(id, |inode| {
            inode.kind = kind;
            inode.place = None;
            inode.chunk_bytes = 1 << 20;
        });
    }
}

fn plant_bucket<V: View>(turn: &mut Turn<'_, V>, directory: FileId, bucket: BucketStart) {
    let header = Header {
        level: 1,
        mode: 0o755,
        gid: 0,
        depth: 1,
        entries: 1,
        subdirectories: 0,
        pending: 0,
        modified: turn.now.into(),
    };
    turn.state.put(Key::Header(directory, bucket), header);
    let names = (0..1000_u32).map(|number| Name::new(alloc::format!("stray-{number}")));
    let belongs = |name: &Name| bucket.covers(header.level, name.hash());
    let Some(name) = names.flatten().find(belongs) else {
        return;
    };
    let entry = Entry {
        id: FileId(directory.0 + 1),
        kind: Kind::File,
    };
    let hash = name.hash();
    turn.state.put(Key::Entry(directory, hash, name), entry);
}
