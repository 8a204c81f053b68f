//! Opening a log: which entries there are, and whether what is missing may be.

use super::{Entry, Link, Log, Segment, entry, segment::Reading};
use crate::{
    StoreError,
    files::Files,
    head::{FileKind, Identity},
};
use bytes::Bytes;
use std::collections::VecDeque;

/// The fate of an entry that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// It was applied.
    Applied,
    /// Nobody understands it.
    Unknown,
    /// The data that it names was not written whole.
    Torn,
}

/// Where the entries end before the bytes do.
struct Break {
    /// The place of the segment in the list.
    index: usize,
    /// The end of the last whole entry in it; `None` if the segment does not follow.
    offset: Option<u64>,
    /// The fault, unless it may be like that.
    error: StoreError,
}

impl Log {
    /// Opens the log of a server, and hands over each entry, the oldest first, and whether it was
    /// durable for certain. If there is no log, begins one. `may_have_losses` says whether what was
    /// not durable may be lost.
    ///
    /// # Errors
    /// Those of [`StoreError`]. Only the torn end of a log is changed, which is cut off.
    pub fn open(
        files: &mut Files,
        identity: Identity,
        segment_bytes: u64,
        may_have_losses: bool,
        mut replay: impl FnMut(Entry, bool) -> Replayed,
    ) -> Result<Self, StoreError> {
        let numbers = files.list(FileKind::Log)?;
        let mut durable = 0;
        if may_have_losses {
            Self::new(identity, segment_bytes).walk(files, &numbers, &mut |entry| {
                durable = durable.max(entry.durable);
                Replayed::Applied
            })?;
        }
        let mut log = Self::new(identity, segment_bytes);
        let end = log.walk(files, &numbers, &mut |entry| {
            let is_certain = !may_have_losses || entry.link.position <= durable;
            durable = durable.max(entry.durable);
            replay(entry, is_certain)
        })?;
        if let Some(end) = end {
            log.cut_off(files, &numbers, end, may_have_losses)?;
        }
        log.durable = durable;
        log.written = log.last;
        if log.segments.is_empty() {
            log.begin_segment(files)?;
        }
        // There must be no data without a log. An earlier process may have ended before it had
        // synchronized the name of a new one.
        if let Some(first) = log.segments.front().filter(|_| durable == 0) {
            files.synchronize(FileKind::Log, first.first)?;
        }
        Ok(log)
    }

    const fn new(identity: Identity, segment_bytes: u64) -> Self {
        let none = Link {
            position: 0,
            crc32c: 0,
        };
        Self {
            identity,
            segment_bytes,
            segments: VecDeque::new(),
            last: none,
            written: none,
            durable: 0,
            pending: Vec::new(),
            pending_bytes: 0,
        }
    }

    /// Reads the segments up to where the entries end.
    fn walk(
        &mut self,
        files: &Files,
        numbers: &[u64],
        replay: &mut impl FnMut(Entry) -> Replayed,
    ) -> Result<Option<Break>, StoreError> {
        for (index, &number) in numbers.iter().enumerate() {
            let end = self.read(files, number, replay)?;
            if let Some((offset, error)) = end {
                return Ok(Some(Break {
                    index,
                    offset,
                    error,
                }));
            }
        }
        Ok(None)
    }

    /// Reads a segment. Returns where its entries end before its bytes do, and what is wrong there.
    fn read(
        &mut self,
        files: &Files,
        number: u64,
        replay: &mut impl FnMut(Entry) -> Replayed,
    ) -> Result<Option<(Option<u64>, StoreError)>, StoreError> {
        let path = files.path(FileKind::Log, number);
        let Some(mut reading) = Reading::open(files, number)? else {
            return Ok(Some((None, StoreError::damaged(&path, 0))));
        };
        if let Some(error) = self.meet(&reading)? {
            return Ok(Some((None, error)));
        }
        let mut end = reading.offset();
        let mut is_torn = false;
        while let Some(entry) = reading.next(self.last) {
            let link = entry.link;
            match replay(entry) {
                Replayed::Applied => (self.last, end) = (link, reading.offset()),
                Replayed::Unknown => return Err(StoreError::damaged(&path, end)),
                Replayed::Torn => {
                    is_torn = true;
                    break;
                }
            }
        }
        self.segments.push_back(Segment {
            first: number,
            bytes: end,
        });
        let is_torn = is_torn || reading.is_torn();
        Ok(is_torn.then(|| (Some(end), StoreError::damaged(&path, end))))
    }

    /// Whether a segment is the next one of this log, or what is missing.
    fn meet(&mut self, reading: &Reading) -> Result<Option<StoreError>, StoreError> {
        let path = reading.path();
        if reading.head.identity != self.identity {
            let found = &reading.head.identity;
            return Err(StoreError::foreign(path, found, &self.identity));
        }
        if self.segments.is_empty() {
            self.last = reading.before();
        }
        Ok(
            (reading.before() != self.last).then(|| StoreError::Missing {
                path: path.into(),
                after: self.last.position + 1,
            }),
        )
    }

    /// Cuts off what follows the last whole entry, if that may be torn.
    fn cut_off(
        &self,
        files: &mut Files,
        numbers: &[u64],
        end: Break,
        may_have_losses: bool,
    ) -> Result<(), StoreError> {
        let (torn, later) = (numbers[end.index], &numbers[end.index + 1..]);
        let is_whole = match may_have_losses {
            true => self.is_needed(files, torn, &end, later)?,
            // A process ends in the middle of its last write only.
            false => {
                let is_gap = matches!(end.error, StoreError::Missing { .. });
                is_gap || !later.is_empty() || self.shows(files, torn, end.offset, None)?
            }
        };
        if is_whole {
            return Err(end.error);
        }
        for &number in later.iter().rev() {
            files.remove(FileKind::Log, number)?;
        }
        match end.offset {
            Some(offset) => files.truncate(FileKind::Log, torn, offset),
            None => files.remove(FileKind::Log, torn),
        }
    }

    /// Whether something behind a break shows that what is missing was durable.
    fn is_needed(
        &self,
        files: &Files,
        torn: u64,
        end: &Break,
        later: &[u64],
    ) -> Result<bool, StoreError> {
        let next = Some(self.last.position + 1);
        let mut is_needed = self.shows(files, torn, end.offset, next)?;
        for &number in later {
            is_needed = is_needed || self.shows(files, number, None, next)?;
        }
        Ok(is_needed)
    }

    /// As [`entry::show_durable`], of a segment from an offset on.
    fn shows(
        &self,
        files: &Files,
        number: u64,
        from: Option<u64>,
        position: Option<u64>,
    ) -> Result<bool, StoreError> {
        let bytes = Bytes::from(files.read(FileKind::Log, number)?);
        let rest = bytes.slice_ref(bytes.get(from.unwrap_or(0) as usize..).unwrap_or_default());
        Ok(entry::show_durable(&rest, self.identity.seed(), position))
    }
}
