//! Further names of files with several names.

use super::{Copier, temporary_path};
use crate::{Answer, Done, Failure, FurtherName, Links, Result, Tree};
use futago_base::Kind;

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Links a further name to a copied file.
    pub(super) fn name(&self, name: &FurtherName, answer: &mut Answer) {
        match self.link(name) {
            Ok(done) => answer.done.push(done),
            Err(failure) => answer.failures.push(failure),
        }
    }

    fn link(&self, name: &FurtherName) -> Result<Done> {
        let FurtherName {
            first,
            source,
            further,
        } = name;
        self.ensure_uninterrupted(further)?;
        let missing = || Failure::of_file(further, "linking", format!("{first} was not copied"));
        let file = self
            .target
            .metadata(first, Links::Unfollowed)?
            .ok_or_else(missing)?;
        // A rename to another name of the same file would leave the temporary name.
        let present = self.target.metadata(further, Links::Unfollowed)?;
        if present.is_some_and(|present| present.identity == file.identity) {
            return Ok(Done::Present);
        }
        let temporary = temporary_path(source, further)?;
        self.target.remove(&temporary)?;
        self.target.link(first, &temporary)?;
        self.give_name(&temporary, further)?;
        Ok(Done::Copied(Kind::File))
    }
}
