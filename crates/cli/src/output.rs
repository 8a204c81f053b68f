//! The output of commands: one JSON value with `--json`, else text for people.
//!
//! Nothing here panics, as `println!` does when it cannot write.

pub use futago_staging::escape;

use crate::exit::{Exit, Problem};
use serde::Serialize;
use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// Prints `value` as JSON, or what `text` makes of it.
///
/// # Errors
///
/// If standard output cannot be written; with [`Exit::ReaderGone`] if nobody reads it any more.
pub fn print<T: Serialize>(
    json: bool,
    value: &T,
    text: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    let line = if json {
        serde_json::to_string_pretty(value)? + "\n"
    } else {
        text(value)
    };
    write_all(line.as_bytes())
}

/// Writes to standard output, with the errors of [`print`].
pub fn write_all(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| reader_gone(error.into()))
}

/// An error of writing to standard output; with [`Exit::ReaderGone`] if nobody reads it any more.
pub fn reader_gone(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<io::Error>() {
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
            Problem::error(Exit::ReaderGone, error.to_string())
        }
        _ => error,
    }
}

/// Prints a message for people on standard error. A failure to print is ignored.
pub fn notice(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells why this process ends: on standard error, or on standard output if that fails. A process
/// in the background, whose standard error is a log on a full disk, is heard by its caller so.
pub fn last_words(text: impl Display) {
    if writeln!(io::stderr(), "{text}").is_err() {
        let _ = writeln!(io::stdout(), "{text}");
    }
}

/// A path as [`escape`] writes names.
pub fn escape_path(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().iec().to_string()
}

/// Rows in columns, those of these numbers aligned to the right. Without titles there is no header.
pub fn table(titles: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    if !titles.is_empty() {
        table.set_header(titles);
    }
    table.add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if right.contains(&number) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("{}\n", table.trim_fmt()),
    }
}

/// A number of things for people.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

/// A progress bar over an unknown number of bytes, shown only if standard error is a terminal.
pub fn progress_of_bytes(message: &'static str) -> indicatif::ProgressBar {
    if !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let template =
        "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
    let bar = indicatif::ProgressBar::no_length().with_message(message);
    match indicatif::ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A progress bar over `length` steps, shown only if standard error is a terminal.
pub fn progress(length: u64, message: &'static str) -> indicatif::ProgressBar {
    if !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let template = "{msg:10} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}";
    let style = indicatif::ProgressStyle::with_template(template);
    let bar = indicatif::ProgressBar::new(length).with_message(message);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
