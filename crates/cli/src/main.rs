//! `futago`: starts, mounts, inspects, measures and repairs clusters.

mod allocator;
mod bench;
mod caches;
mod cluster;
mod commands;
mod connection;
mod exit;
mod logs;
#[cfg(all(target_arch = "x86_64", any(test, target_env = "musl")))]
mod memory_functions;
mod output;
mod simulation;
mod transfer;

use clap::Parser;
use commands::Command;
use exit::{Exit, exit_of};
use std::process::ExitCode;

/// A parallel file system in one command, and its twin.
///
/// `futago up` starts servers, `futago mount` makes their file system a directory, `futago down`
/// ends it all.
#[derive(Parser)]
#[command(name = "futago", version, propagate_version = true, after_help = EXIT_CODES)]
struct Futago {
    /// The form of log lines on standard error, also of processes that are started here.
    #[arg(long, global = true, value_enum, default_value_t, env = logs::FORMAT_VARIABLE)]
    log_format: logs::Format,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all is well; 1 what was looked at is not well (damage, something missing); 2 wrong usage;
3 the command failed; 4 the cluster does not answer; 5 the cluster file is in use; 130 interrupted;
141 nobody reads the output any more.

FUTAGO_LOG chooses what is logged, such as FUTAGO_LOG=debug.";

fn main() -> ExitCode {
    let futago = Futago::parse_from(commands::with_two_dashes(std::env::args_os()));
    logs::start(futago.log_format, futago.command.role());
    let json = futago.command.wants_json();
    match futago.command.run() {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            let exit = exit_of(&error);
            if exit != Exit::ReaderGone {
                report(json, &error, exit as u8);
            }
            ExitCode::from(exit as u8)
        }
    }
}

fn report(json: bool, error: &anyhow::Error, code: u8) {
    if json {
        let value = serde_json::json!({ "error": format!("{error:#}"), "exit_code": code });
        output::last_words(value);
    } else if logs::is_json() {
        output::last_words(logs::error_line(&format!("{error:#}"), code));
    } else {
        output::last_words(format_args!("futago: {error:#}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Futago::command().debug_assert();
    }
}
