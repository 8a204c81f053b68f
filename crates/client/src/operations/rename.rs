//! Renames.

use super::lookup::Found;
use crate::{Client, Context, RenameFlags, client::UNEXPECTED, join_all, transaction::Plan};
use futago_base::{Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, Reply, Request, Spot, Step};

/// One of the two names of a rename.
#[derive(Clone, Copy)]
struct End<'a> {
    directory: FileId,
    name: &'a Name,
}

/// Something that changes its place: the directory that it leaves, and the one that it comes to.
#[derive(Clone, Copy)]
struct Move {
    entry: Entry,
    from: FileId,
    to: FileId,
}

impl Move {
    /// Whether it changes the shape of the tree.
    fn reshapes(&self) -> bool {
        self.entry.kind == Kind::Directory && self.from != self.to
    }
}

impl<C: Context> Client<C> {
    /// Moves `name` in `directory` to `new_name` in `new_directory`, as `renameat2` does.
    /// Errors: `ENOENT`, `EEXIST`, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`, `EINVAL` for a directory that
    /// would move below itself and for contradictory flags.
    pub async fn rename(
        &self,
        directory: FileId,
        name: &Name,
        new_directory: FileId,
        new_name: &Name,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if flags.exchange && flags.no_replace {
            return Err(Errno::EINVAL);
        }
        let age = self.age();
        let from = End { directory, name };
        let to = End {
            directory: new_directory,
            name: new_name,
        };
        self.persist(|| self.try_rename(from, to, flags, age)).await
    }

    async fn try_rename(
        &self,
        from: End<'_>,
        to: End<'_>,
        flags: RenameFlags,
        age: Time,
    ) -> Result<(), Failure> {
        let sought = [from, to].map(|end| self.find_place(end.directory, end.name));
        let mut found = join_all(sought).await;
        let (target, source) = (found.pop(), found.pop());
        let source = source.ok_or(UNEXPECTED)??.map_err(|_| Errno::ENOENT)?;
        let target = target.ok_or(UNEXPECTED)??;
        if flags.no_replace && target.is_ok() {
            return Err(Errno::EEXIST.into());
        }
        // Two names of one file: POSIX wants nothing to be done.
        if target.as_ref().is_ok_and(|t| t.entry.id == source.entry.id) {
            return self.check_both(from, to, source.entry.id).await;
        }
        let plan = match (flags.exchange, target) {
            (true, Err(_)) => return Err(Errno::ENOENT.into()),
            (true, Ok(target)) => self.plan_exchange(&source, &target).await?,
            (false, target) => self.plan_rename(&source, target).await?,
        };
        self.execute(plan, age).await
    }

    /// Whether two names lead to one file at the same time: they were looked up side by side, so one
    /// may have been renamed to the other in between. Looks at the second again, then at the first.
    async fn check_both(&self, first: End<'_>, second: End<'_>, id: FileId) -> Result<(), Failure> {
        for end in [second, first] {
            match self.find_place(end.directory, end.name).await? {
                Ok(found) if found.entry.id == id => {}
                _ => return Err(Failure::Changed),
            }
        }
        Ok(())
    }

    async fn plan_rename(
        &self,
        source: &Found,
        target: Result<Found, Spot>,
    ) -> Result<Plan, Failure> {
        let replaces = target.as_ref().ok().map(|target| target.entry);
        check_kinds(source.entry, replaces)?;
        let mut plan = Plan::default();
        let remove = Step::RemoveEntry {
            at: source.at.clone(),
            expected: source.entry,
        };
        plan.add(self.server_of(&source.at), remove);
        let at = target
            .as_ref()
            .map_or_else(Clone::clone, |target| target.at.clone());
        let to = at.directory;
        self.plan_put(&mut plan, at, source.entry, replaces);
        if let Ok(target) = target {
            self.plan_replacement(&mut plan, target).await?;
        }
        let moved = Move {
            entry: source.entry,
            from: source.at.directory,
            to,
        };
        self.plan_moves(&mut plan, &[moved]).await?;
        Ok(plan)
    }

    async fn plan_exchange(&self, source: &Found, target: &Found) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        self.plan_put(
            &mut plan,
            source.at.clone(),
            target.entry,
            Some(source.entry),
        );
        self.plan_put(
            &mut plan,
            target.at.clone(),
            source.entry,
            Some(target.entry),
        );
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
        self.plan_moves(&mut plan, &moves).await?;
        Ok(plan)
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

    /// What happens to the file or the empty directory that loses its name.
    async fn plan_replacement(&self, plan: &mut Plan, target: Found) -> Result<(), Failure> {
        if target.entry.kind == Kind::Directory {
            return self.plan_removal(plan, target.entry, target.state).await;
        }
        let id = target.entry.id;
        plan.add(self.map().home(id), Step::DropLink(id));
        Ok(())
    }

    /// What moves itself notices: its change time and, for a directory, its parent.
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

    /// No directory may come to lie below itself. The version of the tree is taken before the tree is
    /// looked at and validated with the change, so that no other rename can slip in between.
    async fn plan_reshaping(&self, plan: &mut Plan, moves: &[Move]) -> Result<(), Failure> {
        let server = self.map().home(FileId::ROOT);
        let Reply::Number(expected) = self.ask(server, Request::GetTreeVersion).await? else {
            return Err(UNEXPECTED);
        };
        for moved in moves.iter().filter(|moved| moved.reshapes()) {
            self.check_not_below(moved.to, moved.entry.id).await?;
        }
        plan.add(server, Step::AdvanceTree { expected });
        Ok(())
    }

    /// Walks from `directory` up to the root. Fails with `EINVAL` if it meets `moved`.
    async fn check_not_below(&self, directory: FileId, moved: FileId) -> Result<(), Failure> {
        let mut at = directory;
        loop {
            if at == moved {
                return Err(Errno::EINVAL.into());
            }
            if at == FileId::ROOT {
                return Ok(());
            }
            at = self.parent_at_home(at).await?;
        }
    }
}

const fn check_kinds(source: Entry, target: Option<Entry>) -> Result<(), Failure> {
    let source_is_directory = matches!(source.kind, Kind::Directory);
    match target {
        Some(target) => match (source_is_directory, matches!(target.kind, Kind::Directory)) {
            (true, false) => Err(Failure::Errno(Errno::ENOTDIR)),
            (false, true) => Err(Failure::Errno(Errno::EISDIR)),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}
