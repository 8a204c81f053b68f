//! How the program ends: exit codes, and errors that carry one.

use crate::output;
use std::fmt;

/// The program's exit codes; clap itself ends with [`Exit::Usage`] when it refuses arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Success = 0,
    /// The command worked and what it looked at is not well: damage, something missing.
    Wrong = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// The command failed.
    Failed = 3,
    /// The cluster, or a part of it that is needed, does not answer.
    Unreachable = 4,
    /// The cluster file is in use.
    InUse = 5,
    /// Interrupted, as shells count SIGINT.
    Interrupted = 130,
    /// Nobody reads the output any more, as shells count SIGPIPE.
    ReaderGone = 141,
}

/// Failures of single items, after which a command continued with the rest.
#[derive(Default)]
pub struct Failures {
    count: u64,
}

impl Failures {
    /// Tells people of one.
    pub fn tell(&mut self, error: &anyhow::Error) {
        output::notice(format_args!("futago: {error:#}"));
        self.count += 1;
    }

    /// Prints one for people, unless so many are printed.
    pub fn print_some(&mut self, error: &anyhow::Error, most: u64) {
        if self.count < most {
            self.tell(error);
        } else {
            self.count += 1;
        }
    }

    /// Prints for people how many [`Failures::print_some`] has left out.
    pub fn print_rest(&self, most: u64, what: &str) {
        if let Some(rest @ 1..) = self.count.checked_sub(most) {
            output::notice(format_args!("futago: {rest} more {what}"));
        }
    }

    /// Tells of one unless all went well. The end of the reader of this program's output and an
    /// interruption end the command.
    pub fn go_on(&mut self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        match result {
            Err(error) if [Exit::ReaderGone, Exit::Interrupted].contains(&exit_of(&error)) => {
                Err(error)
            }
            Err(error) => {
                self.tell(&error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether all went well so far.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How the command ends.
    pub const fn exit(&self) -> Exit {
        match self.count {
            0 => Exit::Success,
            _ => Exit::Wrong,
        }
    }
}

/// An error with an exit code of its own; all others end with [`Exit::Failed`].
#[derive(Debug)]
pub struct Problem {
    /// The exit code.
    pub exit: Exit,
    /// The action that failed, the cause and the remedy.
    pub message: String,
}

impl Problem {
    /// An error that ends the program with `exit`.
    pub fn error(exit: Exit, message: impl Into<String>) -> anyhow::Error {
        Self {
            exit,
            message: message.into(),
        }
        .into()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    error
        .downcast_ref::<Problem>()
        .map_or(Exit::Failed, |problem| problem.exit)
}
