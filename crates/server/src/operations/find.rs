//! Searches parts of directories for entries that pass tests.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal, Result};
use crate::state::bucket::end_of;
use alloc::boxed::Box;
use futago_base::{
    Attributes, Errno, FileId, Key, Kind, Name, NameHash, View,
    record::{Entry, Header, Target},
    search::Tests,
};
use futago_wire::{
    Failure, Reply,
    search::{Detail, FoundEntry, Scan, ScanEnd, Scanned, Subdirectory},
};

/// The most entries that one request looks at. Other requests wait meanwhile.
const ENTRIES_MAX: usize = 2048;
/// The most parts of directories in one request.
const SCANS_MAX: usize = 1024;
/// The size of a reply after which no more is added, in bytes: half of what fits in a message.
const REPLY_BYTES: usize = 512 << 10;
/// The cost of a scan beside its entries, in entries.
const SCAN_COST: usize = 2;
/// The size of an entry in a reply beside its name, in bytes, with and without attributes.
const ENTRY_BYTES: usize = 24;
const ATTRIBUTES_BYTES: usize = 128;

/// The tests, and the wanted information about entries that match.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub tests: &'a Tests,
    pub detail: Detail,
}

impl Search<'_> {
    /// Whether an entry cannot match or be described without its attributes.
    fn needs_attributes(self) -> bool {
        self.detail == Detail::Attributes || self.tests.need_attributes()
    }
}

/// The work that is left for the request.
struct Budget {
    entries: usize,
    bytes: usize,
}

impl Budget {
    const fn is_spent(&self) -> bool {
        self.entries == 0 || self.bytes == 0
    }

    fn spend(&mut self, entries: usize) {
        self.entries = self.entries.saturating_sub(entries);
    }

    fn fill(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    scans: &[Scan],
    search: Search<'_>,
    entries_max: u32,
) -> Result {
    if scans.len() > SCANS_MAX {
        return Err(Errno::EINVAL.into());
    }
    let mut budget = Budget {
        entries: (entries_max as usize).clamp(1, ENTRIES_MAX),
        bytes: REPLY_BYTES,
    };
    let scanned = scans.iter().map(|scan| {
        if budget.is_spent() {
            return Ok(Scanned::nothing(ScanEnd::NotBegun));
        }
        match scan_bucket(builder, scan, search, &mut budget) {
            Err(Refusal::Failure(failure)) => Ok(Scanned::nothing(ScanEnd::Failed(failure))),
            scanned => scanned,
        }
    });
    Ok(Reply::Scanned(scanned.collect::<Checked<_>>()?).into())
}

fn scan_bucket<V: View>(
    builder: &DecisionBuilder<'_, V>,
    scan: &Scan,
    search: Search<'_>,
    budget: &mut Budget,
) -> Checked<Scanned> {
    let Scan {
        directory, bucket, ..
    } = *scan;
    let header = builder.bucket(directory, bucket)?;
    let first = NameHash(scan.after.0.saturating_add(1).max(bucket.0));
    // A transaction may be about to remove the directory.
    builder.unreserved(Target::Header(directory, bucket))?;
    let level = header.level;
    if !bucket.covers(level, first) {
        return Err(Failure::Moved { bucket, level }.into());
    }
    budget.spend(SCAN_COST);
    let scanned = scan_entries(builder, scan, search, (first, &header), budget);
    if header.pending > 0 {
        let last = match scanned.end {
            ScanEnd::After { after, .. } => Some(NameHash(after.0 + 1)),
            _ => end_of(bucket, &header),
        };
        builder.no_locators(directory, first, last)?;
    }
    Ok(scanned)
}

/// Looks at entries from the first hash on, until the budget is spent. It never separates names of
/// one hash, because a scan resumes after a hash.
fn scan_entries<V: View>(
    builder: &DecisionBuilder<'_, V>,
    scan: &Scan,
    search: Search<'_>,
    (first, header): (NameHash, &Header),
    budget: &mut Budget,
) -> Scanned {
    let level = header.level;
    let mut scanned = Scanned::nothing(ScanEnd::Bucket { level });
    let (from, to) = Key::entries(scan.directory, first, end_of(scan.bucket, header));
    let mut last = None;
    for (key, value) in builder.state.range(from, to) {
        let (Key::Entry(_, hash, name), Some(entry)) = (key, value.entry()) else {
            continue;
        };
        if let Some(after) = last.filter(|last| budget.is_spent() && last != hash) {
            scanned.end = ScanEnd::After { after, level };
            return scanned;
        }
        last = Some(*hash);
        budget.spend(1);
        take(builder, scan, search, (name, *entry), &mut scanned, budget);
    }
    scanned
}

/// Takes one entry into the result.
fn take<V: View>(
    builder: &DecisionBuilder<'_, V>,
    scan: &Scan,
    search: Search<'_>,
    (name, entry): (&Name, Entry),
    scanned: &mut Scanned,
    budget: &mut Budget,
) {
    if scan.subdirectories && entry.kind == Kind::Directory {
        let (name, id) = (name.clone(), entry.id);
        budget.fill(name.as_bytes().len() + ENTRY_BYTES);
        scanned.subdirectories.push(Subdirectory { name, id });
    }
    if !scan.matches || !search.tests.admit_entry(name.as_bytes(), entry.kind) {
        return;
    }
    let judgement = judge(builder, search, entry.id);
    if let Judgement::Passes(_) = judgement {
        scanned.matches += 1;
    }
    let (found, list) = match judgement {
        Judgement::Passes(found) if search.detail != Detail::Count => (found, &mut scanned.found),
        Judgement::Unknown => (None, &mut scanned.undecided),
        Judgement::Passes(_) | Judgement::Fails => return,
    };
    budget.fill(name.as_bytes().len() + ENTRY_BYTES + found.map_or(0, |_| ATTRIBUTES_BYTES));
    list.push(FoundEntry {
        name: name.clone(),
        entry,
        attributes: found.map(Box::new),
    });
}

enum Judgement {
    Passes(Option<Attributes>),
    Fails,
    Unknown,
}

/// Judges the attributes of an entry, if they matter.
fn judge<V: View>(builder: &DecisionBuilder<'_, V>, search: Search<'_>, id: FileId) -> Judgement {
    if !search.needs_attributes() {
        return Judgement::Passes(None);
    }
    match known_attributes(builder, search.detail, id) {
        None => Judgement::Unknown,
        Some(known) if !search.tests.admit_attributes(&known) => Judgement::Fails,
        Some(known) => Judgement::Passes((search.detail == Detail::Attributes).then_some(known)),
    }
}

/// The attributes of a file, if this server alone decides them: it is the home, no client may have
/// changed them without its knowledge, and no transaction has reserved them.
fn known_attributes<V: View>(
    builder: &DecisionBuilder<'_, V>,
    detail: Detail,
    id: FileId,
) -> Option<Attributes> {
    if !builder.is_at_home(id) || builder.exclusive_holder(id).is_some() {
        return None;
    }
    if detail != Detail::Attributes
        && let Some(file) = builder.plain_attributes(id)
    {
        return Some(file);
    }
    let state = builder.file_state(id).ok()?;
    let is_whole = |directory: futago_wire::DirectoryState| directory.here.is_whole();
    state
        .directory
        .is_none_or(is_whole)
        .then_some(state.attributes)
}
