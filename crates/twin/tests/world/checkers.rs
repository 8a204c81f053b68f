//! Every event of a world can be taken back.

use crate::setups::{faulty, looking, mixed};
use futago_twin::world::check;

#[test]
fn every_event_can_be_taken_back() {
    check(&mixed(2, 3, 1)).expect("undos restore everything");
    check(&faulty(2, 2, 1)).expect("undos restore everything");
    check(&looking(mixed(2, 3, 1))).expect("undos restore everything");
}
