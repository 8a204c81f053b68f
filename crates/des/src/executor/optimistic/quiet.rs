//! No noise from panics of events that may never have happened.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::fault::Fault;

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Has the panic hook say nothing about panics in [`speculate`]; all others go where they went.
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

/// Runs the model's code; a panic becomes a fault.
#[inline]
pub(super) fn speculate<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    SPECULATING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    SPECULATING.set(false);
    outcome.map_err(|panic| Fault::from_panic(&*panic))
}
