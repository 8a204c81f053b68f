//! Runs a world.

use super::gather::Gathered;
use super::model::WorldModel;
use super::scene::Scene;
use super::{Error, Measured, RunOptions, Setup};
use futago_des::checker::Checked;
use futago_des::ranks::{Alone, Ranks};
use futago_des::{Placement, Settings};

/// Runs a world in this process.
///
/// # Errors
///
/// [`Error`] if the setup makes no sense, or the engine cannot run it.
pub fn run(setup: &Setup, options: &RunOptions) -> Result<Measured, Error> {
    run_on(setup, options, &mut Alone)
}

/// Runs a world together with other ranks, which all must call this with the same setup and
/// options, and all get the same result.
///
/// # Errors
///
/// As [`run`].
pub fn run_on(
    setup: &Setup,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
) -> Result<Measured, Error> {
    let model = WorldModel::new(Scene::new(setup.clone())?);
    let outcome = futago_des::run_on(&model, &settings(setup, options), ranks)?;
    let gathered = Gathered::new(&model, &outcome.processes).share(ranks)?;
    Ok(gathered.measured(&model.scene, outcome.statistics))
}

/// Runs a world with every event taken back and repeated, and with rollbacks of random hosts; for
/// tests of the world itself.
///
/// # Errors
///
/// [`Error::Undo`] with the first thing that was not restored, or as [`run`].
pub fn check(setup: &Setup) -> Result<Checked, Error> {
    let model = WorldModel::new(Scene::new(setup.clone())?);
    let settings = settings(setup, &RunOptions::default());
    Ok(futago_des::check(&model, &settings)?)
}

fn settings(setup: &Setup, options: &RunOptions) -> Settings {
    Settings {
        executor: options.executor,
        threads: options.threads,
        placement: Placement::Hint,
        seed: setup.seed,
        watch: options.watch.clone(),
        ..Settings::default()
    }
}
