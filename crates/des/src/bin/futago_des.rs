//! `futago des` as a program of its own.

use std::process::ExitCode;

use clap::Parser;
use futago_des::command::DesArguments;

/// Parallel discrete-event simulation: example models and benchmarks.
#[derive(Parser)]
#[command(name = "futago-des", version)]
struct Program {
    #[command(flatten)]
    des: DesArguments,
}

fn main() -> ExitCode {
    match Program::parse().des.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("futago-des: {error:#}");
            ExitCode::FAILURE
        }
    }
}
