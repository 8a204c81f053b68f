//! Renames.

use super::lookup::Found;
use crate::{Client, Context, Owner, RenameFlags, client::UNEXPECTED, join_all, transaction::Plan};
use alloc::{boxed::Box, collections::BTreeSet};
use futago_base::{Attributes, Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, NewContent, NewNode, Reply, Request, Spot, Step};

/// One of the two names of a rename.
#[derive(Clone, Copy)]
struct End<'a> {
    directory: FileId,
    name: &'a Name,
}

/// A node that a rename moves from one directory to another.
#[derive(Clone, Copy)]
struct Move {
    entry: Entry,
    from: FileId,
    to: FileId,
}

impl Move {
    /// Whether the move changes the shape of the tree.
    fn reshapes(&self) -> bool {
        self.entry.kind == Kind::Directory && self.from != self.to
    }
}

impl<C: Context> Client<C> {
    /// Moves `name` in `directory` to `new_name` in `new_directory`, as `renameat2` does. Errors:
    /// `ENOENT`, `EEXIST`, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`, `ENOSPC`. `EINVAL` for a directory
    /// that would move below itself and for contradictory flags.
    pub async fn rename(
        &self,
        directory: FileId,
        name: &Name,
        new_directory: FileId,
        new_name: &Name,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if flags.exchange && (flags.no_replace || flags.whiteout.is_some()) {
            return Err(Errno::EINVAL);
        }
        let from = End { directory, name };
        let to = End {
            directory: new_directory,
            name: new_name,
        };
        match flags.whiteout {
            Some(owner) => Box::pin(self.rename_leaving(owner, from, to, flags)).await,
            None => self.rename_ends(from, to, flags, None).await,
        }
    }

    async fn rename_leaving(
        &self,
        owner: Owner,
        from: End<'_>,
        to: End<'_>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        loop {
            let session = self.context().session();
            let renamed = self.try_leaving(owner, from, to, flags).await;
            // A whiteout without a name is removed with the session that has made it.
            let is_lost = renamed == Err(Errno::ESTALE) && self.context().session() != session;
            if !is_lost {
                return renamed;
            }
        }
    }

    /// Makes the whiteout without a name. The rename gives it the old name in its own transaction.
    async fn try_leaving(
        &self,
        owner: Owner,
        from: End<'_>,
        to: End<'_>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let made = self.create_unnamed(from.directory, whiteout(owner)).await?;
        let Attributes { id, kind, .. } = made.attributes;
        let left = Some(Entry { id, kind });
        let renamed = self.rename_ends(from, to, flags, left).await;
        // A whiteout that got no name is removed by this, or else with the session.
        self.close(id).await.ok();
        renamed
    }

    async fn rename_ends(
        &self,
        from: End<'_>,
        to: End<'_>,
        flags: RenameFlags,
        left: Option<Entry>,
    ) -> Result<(), Errno> {
        let age = self.age();
        self.persist(|| self.try_rename(from, to, flags, left, age))
            .await
    }

    async fn try_rename(
        &self,
        from: End<'_>,
        to: End<'_>,
        flags: RenameFlags,
        left: Option<Entry>,
        age: Time,
    ) -> Result<(), Failure> {
        let sought = [from, to].map(|end| self.find_place(end.directory, end.name));
        let mut found = join_all(sought).await;
        let (target, source) = (found.pop(), found.pop());
        let (source, target) = (source.ok_or(UNEXPECTED)??, target.ok_or(UNEXPECTED)??);
        let mut plan = Plan::default();
        self.note(&mut plan, &source);
        self.note(&mut plan, &target);
        let source = source.map_err(|_| Errno::ENOENT)?;
        let replaces = target.as_ref().ok().map(|target| target.entry);
        if let Some(outcome) = conclusion(source.entry, replaces, flags) {
            plan.conclude(outcome);
            return self.execute(plan, age).await;
        }
        match (flags.exchange, target) {
            (true, Err(_)) => return Err(Errno::ENOENT.into()),
            (true, Ok(target)) => self.plan_exchange(&mut plan, &source, &target).await?,
            (false, target) => self.plan_rename(&mut plan, &source, target, left).await?,
        }
        self.execute(plan, age).await
    }

    async fn plan_rename(
        &self,
        plan: &mut Plan,
        source: &Found,
        target: Result<Found, Spot>,
        left: Option<Entry>,
    ) -> Result<(), Failure> {
        let replaces = target.as_ref().ok().map(|target| target.entry);
        self.plan_leaving(plan, source, left);
        let at = target
            .as_ref()
            .map_or_else(Clone::clone, |target| target.at.clone());
        let to = at.directory;
        self.plan_put(plan, at, source.entry, replaces);
        if let Ok(target) = target {
            self.plan_replacement(plan, target).await?;
        }
        let moved = Move {
            entry: source.entry,
            from: source.at.directory,
            to,
        };
        self.plan_moves(plan, &[moved]).await
    }

    /// Plans the end of the old name: its removal, or its replacement by a whiteout.
    fn plan_leaving(&self, plan: &mut Plan, source: &Found, left: Option<Entry>) {
        if let Some(left) = left {
            self.plan_put(plan, source.at.clone(), left, Some(source.entry));
            plan.add(self.map().home(left.id), Step::AddLink(left.id));
            return;
        }
        let remove = Step::RemoveEntry {
            at: source.at.clone(),
            expected: source.entry,
        };
        plan.add(self.server_of(&source.at), remove);
    }

    async fn plan_exchange(
        &self,
        plan: &mut Plan,
        source: &Found,
        target: &Found,
    ) -> Result<(), Failure> {
        let (one, other) = (source.entry, target.entry);
        self.plan_put(plan, source.at.clone(), other, Some(one));
        self.plan_put(plan, target.at.clone(), one, Some(other));
        let (from, to) = (source.at.directory, target.at.directory);
        let moves = [
            Move {
                entry: source.entry,
                from,
                to,
            },
            Move {
                entry: target.entry,
                from: to,
                to: from,
            },
        ];
        self.plan_moves(plan, &moves).await
    }

    fn plan_put(&self, plan: &mut Plan, at: Spot, entry: Entry, replaces: Option<Entry>) {
        let server = self.server_of(&at);
        let step = Step::PutEntry {
            at,
            entry,
            replaces,
        };
        plan.add(server, step);
    }

    /// Plans the removal of the file or the empty directory that loses its name.
    async fn plan_replacement(&self, plan: &mut Plan, target: Found) -> Result<(), Failure> {
        if target.entry.kind == Kind::Directory {
            return self.plan_removal(plan, target.entry, target.state).await;
        }
        let id = target.entry.id;
        plan.add(self.map().home(id), Step::DropLink(id));
        Ok(())
    }

    /// Plans the update of the moved nodes: the change time and, for a directory, the parent.
    async fn plan_moves(&self, plan: &mut Plan, moves: &[Move]) -> Result<(), Failure> {
        if moves.iter().any(Move::reshapes) {
            self.plan_reshaping(plan, moves).await?;
        }
        for moved in moves {
            let id = moved.entry.id;
            let step = if moved.reshapes() {
                Step::SetParent {
                    directory: id,
                    parent: moved.to,
                }
            } else {
                Step::Touch(id)
            };
            plan.add(self.map().home(id), step);
        }
        Ok(())
    }

    /// Prevents a directory from moving below itself. The version of the tree is read before the
    /// parents and validated with the outcome, so that no other rename can interfere.
    async fn plan_reshaping(&self, plan: &mut Plan, moves: &[Move]) -> Result<(), Failure> {
        let server = self.map().home(FileId::ROOT);
        let expected = self.tree_version().await?;
        let advance = Step::AdvanceTree { expected };
        plan.confirm(server, advance.clone());
        plan.add(server, advance);
        for moved in moves.iter().filter(|moved| moved.reshapes()) {
            match self.lies_below(moved.to, moved.entry.id).await {
                Ok(false) => {}
                Ok(true) => plan.conclude(Err(Errno::EINVAL)),
                Err(Failure::Errno(Errno::EIO)) if self.tree_version().await? != expected => {
                    return Err(Failure::Changed);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// The number of renames that have moved directories.
    async fn tree_version(&self) -> Result<u64, Failure> {
        let server = self.map().home(FileId::ROOT);
        match self.ask(server, Request::GetTreeVersion).await? {
            Reply::Number(version) => Ok(version),
            _ => Err(UNEXPECTED),
        }
    }

    /// Whether `directory` is `above` or lies below it: follows the parents up to the root. Errors:
    /// `EIO` if the parents form a circle. Those of a damaged tree do, and so may those that were
    /// asked for while other renames moved directories.
    async fn lies_below(&self, directory: FileId, above: FileId) -> Result<bool, Failure> {
        let (mut at, mut visited) = (directory, BTreeSet::new());
        while at != above {
            if at == FileId::ROOT {
                return Ok(false);
            }
            if !visited.insert(at) {
                return Err(Errno::EIO.into());
            }
            let state = self.existing(at).await?;
            at = state.directory.ok_or(Errno::ENOTDIR)?.parent;
        }
        Ok(true)
    }
}

/// A whiteout: an overlay file system treats it as an absent name.
const fn whiteout(owner: Owner) -> NewNode {
    NewNode {
        content: NewContent::CharacterDevice(0),
        mode: 0,
        uid: owner.uid,
        gid: owner.gid,
    }
}

/// The outcome that two names determine without a change.
fn conclusion(
    source: Entry,
    target: Option<Entry>,
    flags: RenameFlags,
) -> Option<Result<(), Errno>> {
    let target = target?;
    if flags.no_replace {
        return Some(Err(Errno::EEXIST));
    }
    // Two names of one file: POSIX requires that nothing changes.
    if source.id == target.id {
        return Some(Ok(()));
    }
    let is_directory = |entry: Entry| entry.kind == Kind::Directory;
    match (is_directory(source), is_directory(target)) {
        _ if flags.exchange => None,
        (true, false) => Some(Err(Errno::ENOTDIR)),
        (false, true) => Some(Err(Errno::EISDIR)),
        _ => None,
    }
}
