//! One rule that tests can change, to see who notices.

use std::cell::Cell;

thread_local! {
    static EQ_IS_TURNED: Cell<bool> = const { Cell::new(false) };
}

/// Whether `odrl:eq` holds where it should not, and the reverse.
pub(super) fn eq_is_turned() -> bool {
    EQ_IS_TURNED.get()
}

/// Runs something with `odrl:eq` turned around, on this thread.
pub(crate) fn with_turned_eq<T>(run: impl FnOnce() -> T) -> T {
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            EQ_IS_TURNED.set(false);
        }
    }
    EQ_IS_TURNED.set(true);
    let _back = Back;
    run()
}
