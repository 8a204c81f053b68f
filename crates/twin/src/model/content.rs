//! A file's data, or locked ranges, as runs of one value.

/// The positions `from..to`, all with the value `tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// First position.
    pub from: u64,
    /// The position after the last.
    pub to: u64,
    /// The byte value; never 0, the value of holes.
    pub tag: u8,
}

/// Runs in order, as few as possible.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content(Vec<Run>);

impl Content {
    /// Takes what is in `from..to` away.
    pub fn clear(&mut self, from: u64, to: u64) {
        let pieces = self.0.iter().flat_map(|run| {
            let before = Run {
                to: run.to.min(from),
                ..*run
            };
            let after = Run {
                from: run.from.max(to),
                ..*run
            };
            [before, after]
        });
        if from < to {
            self.0 = pieces.filter(|run| run.from < run.to).collect();
        }
    }

    /// Puts `tag` at `from..to`; a tag of 0 makes a hole.
    pub fn write(&mut self, from: u64, to: u64, tag: u8) {
        self.clear(from, to);
        if from < to && tag != 0 {
            let at = self.0.partition_point(|run| run.from < from);
            self.0.insert(at, Run { from, to, tag });
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.0.dedup_by(|next, run| {
            let touches = run.to == next.from && run.tag == next.tag;
            if touches {
                run.to = next.to;
            }
            touches
        });
    }

    /// The runs.
    pub fn runs(&self) -> &[Run] {
        &self.0
    }

    /// Whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The runs within `from..to`.
    pub fn within(&self, from: u64, to: u64) -> Self {
        let mut part = self.clone();
        part.clear(0, from);
        part.clear(to, u64::MAX);
        part
    }

    /// The contents of `bytes`, which lie at `offset`.
    pub fn of_bytes(offset: u64, bytes: &[u8]) -> Self {
        let mut content = Self::default();
        let runs = (offset..).zip(bytes).filter(|&(_, &tag)| tag != 0);
        let runs = runs.map(|(from, &tag)| Run {
            from,
            to: from + 1,
            tag,
        });
        content.0 = runs.collect();
        content.merge();
        content
    }

    /// The first position at or after `from` that holds something.
    pub fn next_data(&self, from: u64) -> Option<u64> {
        let run = self.0.iter().find(|run| run.to > from)?;
        Some(run.from.max(from))
    }

    /// The first position at or after `from` that holds nothing.
    pub fn next_hole(&self, from: u64) -> u64 {
        self.0.iter().fold(from, |hole, run| {
            if run.from <= hole && hole < run.to {
                run.to
            } else {
                hole
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_a_byte_array() {
        let mut random = crate::random::Random::new(1, 0);
        let (mut content, mut bytes) = (Content::default(), [0_u8; 64]);
        for _ in 0..2000 {
            let from = random.below(64);
            let to = from + random.below(65 - from);
            let tag = random.below(4) as u8;
            content.write(from, to, tag);
            bytes[from as usize..to as usize].fill(tag);
            assert_eq!(content, Content::of_bytes(0, &bytes));
            let at = random.below(64);
            let find = |hole| (at..64).find(|&i| (bytes[i as usize] == 0) == hole);
            assert_eq!(content.next_data(at), find(false));
            assert_eq!(content.next_hole(at), find(true).unwrap_or(64));
            assert_eq!(
                content.within(from, to),
                Content::of_bytes(from, &bytes[from as usize..to as usize])
            );
        }
    }
}
