//! The measurements of a comparison so far, in a file.

use super::Runs;
use crate::{
    commands::twin::calibrate::Found,
    exit::{Exit, Problem},
    simulation,
};
use anyhow::Context;
use futago_twin::scenario::Point;
use serde::{Deserialize, Serialize};
use std::{fs, io::ErrorKind, path::Path};

/// All repetitions of the real cluster, and all rounds of the calibration between them.
#[derive(Serialize, Deserialize)]
pub struct Progress {
    /// The program that has measured it.
    program: String,
    /// The scenario, without the machine of the twin.
    scenario: String,
    pub runs: Runs,
    pub rounds: Found,
}

impl Progress {
    /// Nothing yet.
    pub fn new(points: &[Point]) -> anyhow::Result<Self> {
        let without_machine = |point: &Point| {
            let mut document = point.document.clone();
            document["machine"].take();
            document.to_string()
        };
        let documents: Vec<String> = points.iter().map(without_machine).collect();
        let hash = xxhash_rust::xxh3::xxh3_64(documents.concat().as_bytes());
        Ok(Self {
            program: simulation::fingerprint()?,
            scenario: format!("{hash:016x}"),
            runs: points.iter().map(|_| Vec::new()).collect(),
            rounds: Found::default(),
        })
    }

    /// The content of a file; nothing if there is no file.
    pub fn load(file: &Path, points: &[Point]) -> anyhow::Result<Self> {
        let new = Self::new(points)?;
        let text = match fs::read(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(new),
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let stored: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} holds no comparison", file.display()))?;
        if (&stored.program, &stored.scenario) == (&new.program, &new.scenario) {
            return Ok(stored);
        }
        let message = format!(
            "{}: another program or another scenario was measured; keep this one elsewhere",
            file.display()
        );
        Err(Problem::error(Exit::Usage, message))
    }

    /// Puts it in a file.
    pub fn store(&self, file: &Path) -> anyhow::Result<()> {
        fs::write(file, serde_json::to_vec(self)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }
}
