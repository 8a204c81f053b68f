//! The undo for those who do not want to write one.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Forward, Mode, Process, Saved, Time};

/// A process that is undone by putting back a copy of its state.
///
/// The state is cloned before every speculative event, and never in the sequential and the
/// conservative executor. That suits states up to a few hundred bytes; a large store implements
/// [`Process`] and records what it changes.
pub trait Cloneable: Clone + Serialize + Send + Sized + 'static {
    /// As [`Process::Event`].
    type Event: Serialize + DeserializeOwned + Send + 'static;
    /// As [`Process::Output`].
    type Output: Send + 'static;
    /// What committed events leave behind. It is apart from the state because it is never rolled
    /// back. `()` if nothing.
    type Record: Default + Serialize + Send + 'static;

    /// As [`Process::start`].
    fn start(&mut self, ctx: &mut Context<'_, Snapshot<Self>, Forward>);

    /// As [`Process::handle`], without having to save anything.
    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Self::Event,
        ctx: &mut Context<'_, Snapshot<Self>, M>,
    );

    /// As [`Process::commit`].
    fn commit(_record: &mut Self::Record, _now: Time, _output: Self::Output) {}

    /// As [`Process::finish`].
    fn finish(&mut self, _record: &mut Self::Record, _end: Time) {}
}

/// Makes a [`Process`] of a [`Cloneable`] state.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot<S: Cloneable> {
    /// What events change and a rollback puts back.
    pub state: S,
    /// What committed events have left behind.
    pub record: S::Record,
}

impl<S: Cloneable> Snapshot<S> {
    /// A process in this state, with an empty record.
    pub fn new(state: S) -> Snapshot<S> {
        Snapshot {
            state,
            record: S::Record::default(),
        }
    }
}

impl<S: Cloneable> Process for Snapshot<S> {
    type Event = S::Event;
    type Undo = S;
    type Output = S::Output;

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        self.state.start(ctx);
    }

    #[inline]
    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &S::Event,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, S> {
        let saved = ctx.save(|| self.state.clone());
        self.state.handle(now, event, ctx);
        saved
    }

    fn undo(&mut self, undo: S) {
        self.state = undo;
    }

    fn commit(&mut self, now: Time, output: S::Output) {
        S::commit(&mut self.record, now, output);
    }

    fn finish(&mut self, end: Time) {
        self.state.finish(&mut self.record, end);
    }
}
