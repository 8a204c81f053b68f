//! Large files, which several clients copy in parts.

use super::{Copier, data::Nodes, named, temporary_path};
use crate::{
    Answer, Done, Failure, Item, Links, NodeMetadata, Part, Result, Tree, TreePath, Xattr,
};
use futago_base::Kind;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The attribute of an unfinished file that says what is copied.
const STATE: &[u8] = b"user.futago.stage";

/// The state of an unfinished file.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// The source, as it was at the beginning.
    source: NodeMetadata,
    /// The ranges that are copied, verified and synchronized.
    present: Vec<Range<u64>>,
}

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Begins a copy, or continues that of an earlier run if the source has not changed since.
    pub(super) fn begin(&self, item: &Item, answer: &mut Answer) -> Result<()> {
        let temporary = temporary_path(&item.source, &item.target)?;
        if let Some(state) = self.state(&temporary)?
            && item.metadata.is_unchanged_since(&state.source)
        {
            answer.present = state.present;
            return Ok(());
        }
        named(item, &temporary, self.start(item, &temporary))
    }

    /// Makes an empty file of the final size.
    fn start(&self, item: &Item, temporary: &TreePath) -> Result<()> {
        self.target.remove(temporary)?;
        let target = self.target.create_file(temporary)?;
        self.target.set_size(&target, item.metadata.size)?;
        self.set_state(item, &target, &[]);
        Ok(())
    }

    /// The state that an earlier run has left.
    fn state(&self, temporary: &TreePath) -> Result<Option<State>> {
        let Some(found) = self.target.metadata(temporary, Links::Unfollowed)? else {
            return Ok(None);
        };
        if found.kind != Kind::File {
            return Ok(None);
        }
        let xattrs = self.target.xattrs(&self.target.open(temporary, &found)?)?;
        let state = xattrs.iter().find(|xattr| xattr.name == STATE);
        Ok(state.and_then(|xattr| postcard::from_bytes(&xattr.value).ok()))
    }

    fn set_state(&self, item: &Item, target: &T::Node, present: &[Range<u64>]) {
        let state = State {
            source: item.metadata,
            present: present.to_vec(),
        };
        let Ok(value) = postcard::to_allocvec(&state) else {
            return;
        };
        let name = STATE.to_vec();
        // Without the attribute a later run begins anew.
        let _ = self.target.set_xattr(target, &Xattr { name, value });
    }

    /// Copies a part.
    pub(super) fn part(&self, part: &Part, answer: &mut Answer) -> Result<()> {
        let item = &part.item;
        let source = self.source.open(&item.source, &item.metadata)?;
        let target = self.unfinished(item)?;
        let nodes = Nodes {
            path: &item.source,
            source: &source,
            target: &target,
        };
        let copied = self.copy_range(&nodes, part.bytes.clone());
        let temporary = temporary_path(&item.source, &item.target)?;
        answer.bytes += named(item, &temporary, copied)?;
        self.target.synchronize(&target)
    }

    /// Records what is copied.
    pub(super) fn record(&self, item: &Item, present: &[Range<u64>]) -> Result<()> {
        self.set_state(item, &self.unfinished(item)?, present);
        Ok(())
    }

    /// Gives the complete file its name.
    pub(super) fn finish(&self, item: &Item, answer: &mut Answer) -> Result<()> {
        let source = self.source.open(&item.source, &item.metadata)?;
        self.ensure_unchanged(&item.source, &source, &item.metadata)?;
        let target = self.unfinished(item)?;
        self.target.remove_xattr(&target, STATE)?;
        self.copy_attributes(&source, &target, &item.metadata)?;
        let temporary = temporary_path(&item.source, &item.target)?;
        self.give_name(&temporary, &item.target)?;
        answer.done.push(Done::Copied(Kind::File));
        Ok(())
    }

    fn unfinished(&self, item: &Item) -> Result<T::Node> {
        let temporary = temporary_path(&item.source, &item.target)?;
        let found = self.target.metadata(&temporary, Links::Unfollowed)?;
        let missing = || Failure::of_file(&item.target, "copying", "its unfinished copy is gone");
        self.target
            .open_to_write(&temporary, &found.ok_or_else(missing)?)
    }
}
