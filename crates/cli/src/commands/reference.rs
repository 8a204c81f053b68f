//! `futago reference`: what packages and the book say about all commands.

use crate::{Futago, exit::Exit};
use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use clap_markdown::{MarkdownOptions, help_markdown_command_custom};
use std::{fs, path::Path, path::PathBuf};

/// Shells with a directory of completion scripts that packages may write to.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Arguments of `reference`.
#[derive(Args)]
pub struct Reference {
    /// Directory to write to; `man/`, `completions/` and `reference.md` appear in it.
    directory: PathBuf,
}

impl Reference {
    /// A page is no figure.
    pub const fn json(&self) -> bool {
        false
    }

    /// Writes the pages and scripts.
    pub fn run(self) -> anyhow::Result<Exit> {
        let directory = &self.directory;
        write(directory).with_context(|| format!("cannot write to {}", directory.display()))?;
        Ok(Exit::Success)
    }
}

fn write(directory: &Path) -> anyhow::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| directory.join(name));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(described(), man)?;
    for shell in SHELLS {
        generate_to(shell, &mut described(), "futago", &completions)?;
    }
    fs::write(directory.join("reference.md"), markdown())?;
    Ok(())
}

/// The commands that users see, with the same words on every machine.
fn described() -> Command {
    Futago::command().disable_help_subcommand(true)
}

fn markdown() -> String {
    let options = MarkdownOptions::new()
        .title("Reference of the commands".to_owned())
        .show_footer(false);
    help_markdown_command_custom(&described(), &options)
}
