//! `futago des`: the example models from the command line.

mod chord;
mod compare;
mod experiment;
mod matrix;
mod phold;
mod progress;
mod queueing;
mod run_options;

use std::io::Write;

use clap::{Args, Subcommand};

/// The arguments of `futago des`.
#[derive(Args, Debug)]
pub struct DesArguments {
    #[command(subcommand)]
    model: ModelCommand,
}

#[derive(Subcommand, Debug)]
enum ModelCommand {
    /// PHOLD, the benchmark of parallel simulators.
    Phold(phold::PholdArguments),
    /// Queueing stations, beside what theory says: M/M/c, or a closed network.
    Queueing(queueing::QueueingArguments),
    /// A Chord ring with lookups and churn.
    Chord(chord::ChordArguments),
    /// Do all executors give the same results on this machine?
    Matrix(matrix::MatrixArguments),
}

impl DesArguments {
    /// Runs the chosen model and prints the results to `out`.
    ///
    /// # Errors
    ///
    /// If an argument cannot be used, or the run or a write to `out` fails.
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.model {
            ModelCommand::Phold(arguments) => arguments.run(out),
            ModelCommand::Queueing(arguments) => arguments.run(out),
            ModelCommand::Chord(arguments) => arguments.run(out),
            ModelCommand::Matrix(arguments) => arguments.run(out),
        }
    }
}
