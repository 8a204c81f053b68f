//! The studies of the repository: all their scenarios can be read.

use futago_lab::study::{self, Study};
use futago_twin::scenario::Scenario;
use std::path::Path;

#[test]
fn every_scenario_of_every_study_has_points() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let studies = study::all(&experiments).expect("a folder of studies");
    assert!(studies.len() >= 2, "{studies:?}");
    for directory in studies {
        let study = Study::load(&directory).unwrap_or_else(|problem| panic!("{problem}"));
        for figure in study.figures {
            let scenario = Scenario::load(&directory.join(&figure.scenario), &[]);
            let points = scenario.and_then(|scenario| scenario.points());
            let points = points.unwrap_or_else(|problem| panic!("{}: {problem}", figure.name));
            assert!(!points.is_empty(), "{}", figure.name);
        }
    }
}
