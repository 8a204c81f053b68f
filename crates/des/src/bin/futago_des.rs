//! `futago des` as a separate program.

use std::io::{self, Write};
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
    match Program::parse().des.run(&mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(READER_GONE),
        Err(error) => {
            // The exit code also reports the failure if the message cannot be written.
            let _ = writeln!(io::stderr(), "futago-des: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The exit code when the reader of the output has closed it, as shells count SIGPIPE.
const READER_GONE: u8 = 141;

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
