//! Undo as a compile-time mode: saved for speculative events, absent otherwise.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;

/// The mode of handlers: [`Forward`] only, or [`Speculative`] with undo.
pub trait Mode: sealed::Slots {}

/// Events are executed in their final order and never undone, so no undo is built.
#[derive(Debug)]
pub enum Forward {}

/// Events may be undone.
#[derive(Debug)]
pub enum Speculative {}

impl Mode for Forward {}
impl Mode for Speculative {}

/// The return value of a handler: its undo in a [`Speculative`] run, a value of size zero in a
/// [`Forward`] one.
///
/// Made by [`Context::save`](crate::Context::save) *before* the handler changes the process. So a
/// process whose speculative handler panics can be restored as well.
#[derive(Debug)]
#[must_use = "a handler returns what it saved"]
pub struct Saved<M: Mode, U: 'static>(M::Slot<U>);

impl<M: Mode, U: 'static> Saved<M, U> {
    #[inline]
    pub(crate) fn new(make: impl FnOnce() -> U) -> Self {
        Saved(M::fill(make))
    }

    /// The undo, to be extended; `None` in a [`Forward`] run.
    #[inline]
    pub fn as_mut(&mut self) -> Option<&mut U> {
        M::get(&mut self.0)
    }

    /// Adds to the undo; in a [`Forward`] run `add` is not called.
    #[inline]
    pub fn record(&mut self, add: impl FnOnce(&mut U)) {
        if let Some(undo) = self.as_mut() {
            add(undo);
        }
    }
}

impl<U: 'static> Saved<Speculative, U> {
    #[inline]
    pub(crate) fn into_undo(mut self) -> Option<U> {
        self.0.undo.take()
    }
}

/// An undo on the stack of its handler. If the handler panics, dropping it passes it to the engine.
#[derive(Debug)]
pub struct StackUndo<U: 'static> {
    undo: Option<U>,
}

thread_local! {
    static RESCUED: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

impl<U: 'static> Drop for StackUndo<U> {
    #[inline]
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take()
            && std::thread::panicking()
        {
            RESCUED.set(Some(Box::new(undo)));
        }
    }
}

/// The undo of the handler that panicked on this thread, if it had saved one.
pub(crate) fn take_rescued<U: 'static>() -> Option<U> {
    RESCUED
        .take()
        .and_then(|undo| undo.downcast().ok())
        .map(|undo| *undo)
}

mod sealed {
    use super::{Forward, PhantomData, Speculative, StackUndo};

    pub trait Slots: Sized + 'static {
        type Slot<U: 'static>;
        fn fill<U: 'static>(make: impl FnOnce() -> U) -> Self::Slot<U>;
        fn get<U: 'static>(slot: &mut Self::Slot<U>) -> Option<&mut U>;
    }

    impl Slots for Forward {
        type Slot<U: 'static> = PhantomData<U>;

        #[inline]
        fn fill<U: 'static>(_: impl FnOnce() -> U) -> PhantomData<U> {
            PhantomData
        }

        #[inline]
        fn get<U: 'static>(_: &mut PhantomData<U>) -> Option<&mut U> {
            None
        }
    }

    impl Slots for Speculative {
        type Slot<U: 'static> = StackUndo<U>;

        #[inline]
        fn fill<U: 'static>(make: impl FnOnce() -> U) -> StackUndo<U> {
            StackUndo { undo: Some(make()) }
        }

        #[inline]
        fn get<U: 'static>(slot: &mut StackUndo<U>) -> Option<&mut U> {
            slot.undo.as_mut()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_run_builds_nothing() {
        let mut saved = Saved::<Forward, [u8; 256]>::new(|| unreachable!("built an undo"));
        saved.record(|_| unreachable!("added to an undo"));
        assert_eq!(size_of_val(&saved), 0);
    }

    #[test]
    fn a_speculative_run_keeps_what_was_recorded() {
        let mut saved = Saved::<Speculative, Vec<u32>>::new(Vec::new);
        saved.record(|undo| undo.push(5));
        assert_eq!(saved.into_undo(), Some(vec![5]));
    }

    #[test]
    fn a_panicking_handler_leaves_its_undo() {
        let outcome = std::panic::catch_unwind(|| {
            let _saved = Saved::<Speculative, u32>::new(|| 11);
            std::panic::resume_unwind(Box::new("broken"));
        });
        assert!(outcome.is_err());
        assert_eq!(take_rescued::<u32>(), Some(11));
        assert_eq!(take_rescued::<u32>(), None);
    }
}
