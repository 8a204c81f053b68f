//! Every event of a world can be taken back.

use crate::setups::{faulty, mixed};
use futago_twin::world::check;

#[test]
fn every_event_can_be_taken_back() {
    for seed in 1..=3 {
        check(&mixed(2, 3, seed)).expect("undos restore everything");
        check(&faulty(2, 3, seed)).expect("undos restore everything");
    }
}
