//! Suppresses the output of panics in speculative events.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::fault::Fault;

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Makes the panic hook ignore panics in [`speculate`]; all others reach the former hook.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !SPECULATING.get() {
                usual(panic);
            }
        }));
    });
}

/// Runs code of the model; a panic becomes a fault.
#[inline]
pub(super) fn speculate<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    SPECULATING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    SPECULATING.set(false);
    outcome.map_err(|panic| Fault::from_panic(&*panic))
}
