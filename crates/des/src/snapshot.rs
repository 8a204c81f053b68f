//! A generic undo by copies of the state.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Forward, Mode, Process, Saved, Time};

/// A process whose undo restores a copy of its state.
///
/// The state is cloned before every speculative event, and never in the sequential and the
/// conservative executor. That suits states up to a few hundred bytes. A process with a large state
/// implements [`Process`] and records its changes.
pub trait Cloneable: Clone + Serialize + Send + Sized + 'static {
    /// As [`Process::Event`].
    type Event: Serialize + DeserializeOwned + Send + 'static;
    /// As [`Process::Output`].
    type Output: Send + 'static;
    /// The results of committed events. They are separate from the state because they are never
    /// rolled back. `()` if there are none.
    type Record: Default + Serialize + Send + 'static;

    /// As [`Process::start`].
    fn start(&mut self, ctx: &mut Context<'_, Snapshot<Self>, Forward>);

    /// As [`Process::handle`], without an explicit undo.
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
    /// The state, which a rollback restores.
    pub state: S,
    /// The results of committed events.
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
