//! `futago completion`.

use crate::{Futago, exit::Exit, output};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

/// Arguments of `completion`.
#[derive(Args)]
pub struct Completion {
    /// The shell: add its script to the shell's start-up file, for instance with
    /// `source <(futago completion bash)`.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completion {
    /// A script is no figure.
    pub const fn json(&self) -> bool {
        false
    }

    /// Prints the script.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        generate(self.shell, &mut Futago::command(), "futago", &mut script);
        output::write_all(&script)?;
        Ok(Exit::Success)
    }
}
