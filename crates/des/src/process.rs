//! What a logical process is.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Forward, Mode, Saved, Time};

/// A logical process: a state that changes only by handling events.
///
/// A model with several kinds of process makes this an `enum` of them, and `Event` and `Undo`
/// enums as well: no event is ever boxed.
///
/// The process is `Serialize` for the digest of its final state and for the checker, which names
/// the field that an undo does not restore. Fields with `#[serde(skip)]` are in neither.
///
/// # Rules that make every executor give the same results
///
/// - A handler reads nothing but the process, the event, `now` and the context.
/// - `handle` saves before it changes, and `undo` restores all that `handle` changed.
/// - `commit` changes only fields that `handle` and `undo` neither read nor write.
///
/// [`check`](crate::check) finds violations of the second rule.
pub trait Process: Serialize + Send + Sized + 'static {
    /// What one process tells another, or itself.
    type Event: Serialize + DeserializeOwned + Send + 'static;
    /// What `undo` needs to take one event back. `()` for a process that keeps no state.
    type Undo: Send + 'static;
    /// What a handled event has to say to the outside once it is certain. `()` if nothing.
    type Output: Send + 'static;

    /// Runs once at time zero; sends the first events.
    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>);

    /// Handles one event. `ctx` sends events, draws random numbers, emits output, and saves what
    /// `undo` will need.
    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Self::Event,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, Self::Undo>;

    /// Takes the latest event that has not been undone back. The engine itself takes back what was
    /// sent, drawn and emitted.
    fn undo(&mut self, undo: Self::Undo);

    /// Receives what `handle` emitted, once, when the event can no longer be rolled back; in the
    /// order of the process's events.
    fn commit(&mut self, _now: Time, _output: Self::Output) {}

    /// Runs once after the last event.
    fn finish(&mut self, _end: Time) {}
}
