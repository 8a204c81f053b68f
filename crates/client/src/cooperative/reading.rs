//! Reads blocks of a file from other clients' caches and from the servers.

use super::{
    fetches::Fetch,
    plan::{Assigned, Plan},
};
use crate::{
    Client, Context, first_of,
    join::{Transfer, transfer_all},
    leases::DataVersions,
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{ops::Range, pin::pin};
use futago_base::{Errno, FileId, Payload, SessionId};
use futago_wire::{
    CacheReply, CacheRequest, CopySource, Holder, Reply, Request,
    cache::{BLOCK_BYTES, PIECE_BYTES, sum_of_block},
};

/// A client that does not answer is not asked for this many times the time limit.
const RESTS: u64 = 10;
/// A client that is not silent may take this many times the time limit to answer.
const SILENCES_MAX: usize = 60;

/// A part of a read with one source, within one piece if that is a client.
pub(super) struct Part {
    pub range: Range<u64>,
    pub source: Option<Assigned>,
}

impl Part {
    /// How many caches the data passes through up to this client's, with it.
    fn depth(&self) -> u8 {
        let source = self.source.as_ref();
        source.map_or(1, |(_, depth)| depth.saturating_add(1))
    }
}

impl<C: Context> Client<C> {
    /// Reads whole blocks into the cache, while `versions` of the data are valid.
    pub(crate) async fn read_blocks(
        &self,
        id: FileId,
        versions: DataVersions,
        range: Range<u64>,
    ) -> Result<Payload, Errno> {
        if let Some(shared) = self.shared_part(id, &range) {
            let data = Box::pin(self.read_shared(id, versions, shared)).await;
            // Only data of one version is the file's.
            if let Some(data) = data.filter(|_| self.data_versions(id) == Some(versions)) {
                return Ok(data);
            }
        }
        let _fetch = self.fetches.begin(id, range.clone(), Some(1));
        let length = (range.end - range.start) as u32;
        let data = self.read_now(id, range.start, length).await?;
        self.cache_valid(id, versions, range.start, &data, 0);
        Ok(data)
    }

    /// The part of a range before the end of the file, if other clients may have copies.
    fn shared_part(&self, id: FileId, range: &Range<u64>) -> Option<Range<u64>> {
        let size = self.clean_state(id)?.attributes.size;
        let shared = range.start..range.end.min(size);
        (self.may_be_shared(id) && !shared.is_empty()).then_some(shared)
    }

    /// Whether other clients may want to read a file from this one.
    pub(crate) fn may_be_shared(&self, id: FileId) -> bool {
        let state = self.clean_state(id);
        let least = self.config().shared_bytes_min;
        self.context().door().is_some() && state.is_some_and(|it| it.attributes.size >= least)
    }

    /// Reads each part from its source. `None` if that fails, or the file has changed.
    async fn read_shared(
        &self,
        id: FileId,
        versions: DataVersions,
        range: Range<u64>,
    ) -> Option<Payload> {
        let plan = self.plan(id, versions, &range).await?;
        let parts = parts(&plan, &range);
        let begin = |part: &Part| {
            self.fetches
                .begin(id, part.range.clone(), Some(part.depth()))
        };
        let fetches: Vec<_> = parts.iter().map(begin).collect();
        let read = parts.iter().zip(fetches).map(|(part, fetch)| Transfer {
            bytes: (part.range.end - part.range.start) as usize,
            future: self.fetch_part(id, versions, part, fetch),
        });
        let mut pieces = Vec::new();
        let take = |piece: Option<(u64, Payload)>| {
            let (at, data) = piece.ok_or(())?;
            pieces.push(((at - range.start) as usize, data));
            Ok::<_, ()>(())
        };
        let window_bytes = self.config().transfer_bytes_max;
        transfer_all(window_bytes, read, take).await.ok()?;
        let length = (range.end - range.start) as usize;
        Some(Payload::gather(length, &pieces))
    }

    /// Reads a part into the cache. It is there for others before the other parts are.
    async fn fetch_part(
        &self,
        id: FileId,
        versions: DataVersions,
        part: &Part,
        fetch: Fetch<'_>,
    ) -> Option<(u64, Payload)> {
        let (copied, _fetch) = self.read_copies(id, versions, part, fetch).await;
        let is_copy = !copied.is_empty();
        let data = self.with_rest(id, &part.range, copied).await?;
        let chances = if is_copy { 0 } else { self.chances(id) };
        self.cache_valid(id, versions, part.range.start, &data, chances);
        Some((part.range.start, data))
    }

    /// The first bytes of a part from its source, or from another client if its source has nothing.
    /// The servers are asked at once in place of a client that is silent. Returns the fetch that is
    /// under way then, too: it says how many caches the data passes through.
    async fn read_copies<'a>(
        &'a self,
        id: FileId,
        versions: DataVersions,
        part: &Part,
        fetch: Fetch<'a>,
    ) -> (Payload, Fetch<'a>) {
        let copied = self.read_copy(id, versions, part).await;
        if !copied.is_empty() || !part.source.as_ref().is_some_and(|it| self.has_answered(it)) {
            return (copied, fetch);
        }
        let Some(other) = self.part_of_other(id, versions, part).await else {
            return (copied, fetch);
        };
        let range = other.range.clone();
        let again = self.fetches.begin(id, range, Some(other.depth()));
        drop(fetch);
        let copied = self.read_copy(id, versions, &other).await;
        (copied, again)
    }

    /// Whether a source is not silent.
    fn has_answered(&self, (holder, _): &Assigned) -> bool {
        !self.is_silent(holder.session)
    }

    /// The same part from the client that the home names in place of its source.
    async fn part_of_other(&self, id: FileId, versions: DataVersions, part: &Part) -> Option<Part> {
        let range = part.range.clone();
        let piece = range.start / PIECE_BYTES;
        let mut plan = self.known_plan(id, versions);
        if plan.source(piece).is_some() {
            let (without, _) = part.source.as_ref()?;
            let failed = [plan.failed(), &[without.session]].concat();
            let pieces = piece..piece + 1;
            let (holders, sources) = self.find_copies(id, &pieces, &failed).await?;
            plan = Plan::new(versions.now);
            plan.extend(&pieces, holders, &sources);
        } else {
            plan = self.plan(id, versions, &range).await?;
        }
        let source = plan.source(piece)?.cloned();
        Some(Part { range, source })
    }

    /// The data of a range that begins with copied bytes; the servers are asked for the rest.
    /// `None` if that fails, or the file has changed.
    async fn with_rest(&self, id: FileId, range: &Range<u64>, copied: Payload) -> Option<Payload> {
        let from = range.start + copied.len() as u64;
        if from == range.end {
            return Some(copied);
        }
        let rest = self
            .read_now(id, from, (range.end - from) as u32)
            .await
            .ok()?;
        let is_whole = rest.len() as u64 == range.end - from;
        let pieces = [(0, copied), ((from - range.start) as usize, rest)];
        is_whole.then(|| Payload::gather((range.end - range.start) as usize, &pieces))
    }

    /// The first bytes of a part from its source, if that is another client.
    pub(super) async fn read_copy(
        &self,
        id: FileId,
        versions: DataVersions,
        part: &Part,
    ) -> Payload {
        let Some((holder, _)) = &part.source else {
            return Payload::empty();
        };
        let range = &part.range;
        let session = holder.session;
        let piece = range.start / PIECE_BYTES;
        let fail = |plan: &mut Plan| plan.fail(session, piece);
        if self.is_silent(session) {
            self.change_plan(id, versions, fail);
            return Payload::empty();
        }
        let request = CacheRequest::Read {
            file: id,
            offset: range.start,
            length: (range.end - range.start) as u32,
            depth: part.depth(),
        };
        let answer = self.ask_holder(holder, request).await;
        let data = match answer {
            Some((CacheReply::Read { sums }, data)) => self.undamaged(&data, &sums, range),
            _ => {
                self.rest_client(session);
                self.change_plan(id, versions, fail);
                Payload::empty()
            }
        };
        self.with_sharing(|sharing| {
            sharing.counters.bytes_from_peers += data.len() as u64;
            sharing.counters.missed += u64::from(data.is_empty());
        });
        if data.is_empty() {
            self.change_plan(id, versions, |plan| plan.miss(session, piece));
        }
        data
    }

    /// Asks a client, and waits for as long as anything of it arrives.
    pub(super) async fn ask_holder(
        &self,
        holder: &Arc<Holder>,
        request: CacheRequest,
    ) -> Option<(CacheReply, Payload)> {
        let heard = || self.context().heard_of_client(holder.session);
        let mut answer = pin!(self.context().ask_client(Arc::clone(holder), request));
        for _ in 0..SILENCES_MAX {
            let before = heard();
            let silence = pin!(self.context().sleep(self.config().cache_timeout));
            if let Some(answer) = first_of(answer.as_mut(), silence).await {
                return answer;
            }
            if heard() == before {
                break;
            }
        }
        None
    }

    pub(super) fn is_silent(&self, session: SessionId) -> bool {
        let now = self.context().now();
        self.with_sharing(|sharing| sharing.is_silent(session, now))
    }

    pub(super) fn rest_client(&self, session: SessionId) {
        let until = self.context().now() + self.config().cache_timeout.times(RESTS);
        self.with_sharing(|sharing| {
            sharing.silent.insert(session, until);
        });
    }

    /// The data up to the first damaged block, or up to the end of the range.
    fn undamaged(&self, data: &Payload, sums: &[u64], range: &Range<u64>) -> Payload {
        let length = data.len().min((range.end - range.start) as usize);
        let data = data.slice(0, length);
        if !self.config().copy_sums {
            return data;
        }
        let bytes = data.bytes();
        let blocks = bytes.chunks(BLOCK_BYTES as usize);
        let right = blocks
            .zip(sums)
            .take_while(|(block, sum)| sum_of_block(block) == **sum);
        let right = right.map(|(block, _)| block.len()).sum();
        if right < length {
            self.with_sharing(|sharing| sharing.counters.damaged += 1);
        }
        data.slice(0, right)
    }

    fn change_plan(&self, id: FileId, versions: DataVersions, change: impl FnOnce(&mut Plan)) {
        self.with_sharing(|sharing| {
            let plan = sharing.plans.get_mut(id);
            if let Some(plan) = plan.filter(|plan| plan.is_of(versions.now)) {
                change(plan);
            }
        });
    }

    /// The plan for a range. The home is asked if it is not planned yet, and once at a time: it
    /// counts on those that it has sent to a piece. `None` if it does not answer.
    async fn plan(&self, id: FileId, versions: DataVersions, range: &Range<u64>) -> Option<Plan> {
        let wanted = range.start / PIECE_BYTES..range.end.div_ceil(PIECE_BYTES);
        let pieces = self.clean_state(id)?.attributes.size.div_ceil(PIECE_BYTES);
        let mut plan = loop {
            let plan = self.known_plan(id, versions);
            let Some(missing) = plan.missing(&wanted, pieces) else {
                break plan;
            };
            if self.fetches.are_planned(id, missing.start * PIECE_BYTES) {
                self.fetches.one_ends().await;
            } else {
                break self.extended(id, plan, missing).await?;
            }
        };
        plan.read_up_to(range.end);
        plan.forget_before(wanted.start);
        self.with_sharing(|sharing| {
            sharing.plans.insert(id, plan.clone());
        });
        Some(plan)
    }

    fn known_plan(&self, id: FileId, versions: DataVersions) -> Plan {
        let known = self.with_sharing(|sharing| sharing.plans.get(id).cloned());
        let known = known.filter(|plan| plan.is_of(versions.now));
        known.unwrap_or_else(|| Plan::new(versions.now))
    }

    /// The plan with pieces that the home is asked about.
    async fn extended(&self, id: FileId, mut plan: Plan, missing: Range<u64>) -> Option<Plan> {
        let bytes = missing.start * PIECE_BYTES..missing.end * PIECE_BYTES;
        let _planning = self.fetches.begin(id, bytes, None);
        let (holders, sources) = self.find_copies(id, &missing, plan.failed()).await?;
        plan.extend(&missing, holders, &sources);
        self.with_sharing(|sharing| {
            sharing.plans.insert(id, plan.clone());
        });
        Some(plan)
    }

    /// Asks the home whom to ask for pieces. This client counts as a holder of them from now on.
    /// `None` if the home does not answer.
    pub(super) async fn find_copies(
        &self,
        id: FileId,
        pieces: &Range<u64>,
        failed: &[SessionId],
    ) -> Option<(Vec<Holder>, Vec<Option<CopySource>>)> {
        let request = Request::FindCopies {
            id,
            first: pieces.start,
            pieces: (pieces.end - pieces.start) as u32,
            door: self.context().door()?,
            failed: failed.to_vec(),
        };
        match self.ask(self.map().home(id), request).await {
            Ok(Reply::Copies { holders, sources }) => Some((holders, sources)),
            _ => None,
        }
    }
}

/// The parts of a range: neighbouring pieces from the servers are one part.
fn parts(plan: &Plan, range: &Range<u64>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let piece = at / PIECE_BYTES;
        let end = range.end.min((piece + 1) * PIECE_BYTES);
        let source = plan.source(piece).flatten().cloned();
        match parts.last_mut() {
            Some(last) if last.source.is_none() && source.is_none() => last.range.end = end,
            _ => parts.push(Part {
                range: at..end,
                source,
            }),
        }
        at = end;
    }
    parts
}
