//! The program `futago`, which does what several tools ask for.

use std::{
    env,
    ffi::OsStr,
    process::{Command, ExitStatus, Output, Stdio},
};

/// The program beside this one, or else of the `PATH`.
pub fn command(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let beside = env::current_exe()
        .ok()
        .map(|this| this.with_file_name("futago"));
    let program = beside.filter(|program| program.exists());
    let mut command = Command::new(program.unwrap_or_else(|| "futago".into()));
    command.args(words);
    command
}

/// Runs it with the streams of this process.
pub fn run(mut command: Command) -> Result<ExitStatus, String> {
    command
        .status()
        .map_err(|failed| format!("futago: {failed}"))
}

/// Runs it and takes what it prints.
pub fn output(mut command: Command) -> Result<Output, String> {
    command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|failed| format!("futago: {failed}"))
}
