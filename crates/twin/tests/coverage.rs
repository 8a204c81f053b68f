//! Whether the drawn scenarios pass through every recovery path and meet every kind of faults.

use futago_twin::cluster::{Coverage, Mark};
use futago_twin::fuzz::{Scenario, try_run};

#[test]
fn two_hundred_seeds_pass_through_everything() {
    let mut coverage = Coverage::default();
    for seed in 0..200 {
        if let Ok(checked) = try_run(&Scenario::draw(seed)) {
            coverage.join(checked.coverage);
        }
    }
    let missed = Mark::all().filter(|mark| !coverage.contains(*mark));
    let missed: Vec<&str> = missed.map(Mark::name).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
