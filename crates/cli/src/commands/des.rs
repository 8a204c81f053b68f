//! `futago des`: the discrete-event engine.

use crate::{exit::Exit, output};
use clap::Args;
use futago_des::command::DesArguments;

/// Arguments of `des`; the engine has its own.
#[derive(Args)]
pub struct Des {
    #[command(flatten)]
    arguments: DesArguments,
}

impl Des {
    /// The engine reports its errors as text.
    pub const fn json(&self) -> bool {
        false
    }

    /// Simulates.
    pub fn run(self) -> anyhow::Result<Exit> {
        self.arguments
            .run(&mut std::io::stdout())
            .map_err(output::reader_gone)?;
        Ok(Exit::Success)
    }
}
