//! Every event of a world can be taken back.

use crate::setups::{
    broadcast, exchange_on_disks, faulty, faulty_broadcast, faulty_exchange, looking, mixed,
};
use futago_twin::world::check;

#[test]
fn every_event_can_be_taken_back() {
    check(&mixed(2, 3, 1)).expect("undos restore everything");
    check(&faulty(2, 2, 1)).expect("undos restore everything");
    check(&looking(mixed(2, 3, 1))).expect("undos restore everything");
    check(&broadcast(2, 3, 3, true)).expect("undos restore everything");
    check(&faulty_broadcast(2, 3, 3, 1)).expect("undos restore everything");
    check(&faulty_exchange(2, 3, 3, 1)).expect("undos restore everything");
    check(&exchange_on_disks(3, 3, 5, true)).expect("undos restore everything");
}
