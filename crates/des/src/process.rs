//! The definition of a logical process.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Forward, Mode, Saved, Time};

/// A logical process: a state that changes only by handling events.
///
/// A model with several kinds of process makes this an `enum` of them, and `Event` and `Undo` enums
/// as well. So no event is ever boxed.
///
/// The process is `Serialize` for the digest of its final state and for the checker, which names a
/// field that an undo does not restore. Neither covers fields with `#[serde(skip)]`.
///
/// # Rules that make every executor give the same results
///
/// - A handler reads nothing but the process, the event, `now` and the context.
/// - `handle` saves before it changes, and `undo` restores all that `handle` changed.
/// - `commit` changes only fields that `handle` and `undo` neither read nor write.
///
/// [`check`](crate::check) finds violations of the second rule.
pub trait Process: Serialize + Send + Sized + 'static {
    /// A message from one process to another, or to itself.
    type Event: Serialize + DeserializeOwned + Send + 'static;
    /// The data that `undo` needs for one event. `()` for a process without state.
    type Undo: Send + 'static;
    /// The output of a committed event. `()` if there is none.
    type Output: Send + 'static;

    /// Runs once at time zero; sends the first events.
    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>);

    /// Handles one event. `ctx` sends events, draws random numbers, emits outputs, and saves the
    /// undo.
    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &Self::Event,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, Self::Undo>;

    /// Undoes the latest event that has not been undone. The engine itself undoes sent events,
    /// random draws and outputs.
    fn undo(&mut self, undo: Self::Undo);

    /// Receives an output of `handle`, once, when the event is certain; in the order of the events
    /// of the process.
    fn commit(&mut self, _now: Time, _output: Self::Output) {}

    /// Runs once after the last event.
    fn finish(&mut self, _end: Time) {}
}
