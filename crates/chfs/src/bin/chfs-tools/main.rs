//! The tools of CHFS. The name by which this program is called says which tool it is.

mod chfind;
mod chfsctl;
mod chlist;
mod chmkdir;
mod chrmdir;
mod chstagein;
mod futago;

use chfs::session;
use clap::Parser;
use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

/// The name of a tool, and the function that runs it with its arguments.
type Tool = (&'static str, fn(Vec<OsString>) -> Result<ExitCode, String>);

const TOOLS: [Tool; 6] = [
    ("chfind", chfind::run),
    ("chfsctl", chfsctl::run),
    ("chlist", |words| chlist::Chlist::parse_from(words).run()),
    ("chmkdir", |words| chmkdir::Chmkdir::parse_from(words).run()),
    ("chrmdir", |words| chrmdir::Chrmdir::parse_from(words).run()),
    ("chstagein", |words| {
        chstagein::Chstagein::parse_from(words).run()
    }),
];

fn main() -> ExitCode {
    let mut words: Vec<OsString> = env::args_os().collect();
    let called = tool(words.first());
    // `chfs-tools chlist` is `chlist`.
    let tool = called.or_else(|| {
        words.drain(..1);
        tool(words.first())
    });
    let Some((name, run)) = tool else {
        let names = TOOLS.map(|(name, _)| name).join(", ");
        return fail("chfs-tools", &format!("call it as one of {names}"));
    };
    run(words).unwrap_or_else(|reason| fail(name, &reason))
}

fn tool(word: Option<&OsString>) -> Option<&'static Tool> {
    let name = Path::new(word?).file_name()?;
    TOOLS.iter().find(|(tool, _)| *tool == name)
}

fn fail(name: &str, reason: &str) -> ExitCode {
    // Nobody reads the reason if this fails.
    let _ = writeln!(io::stderr(), "{name}: {reason}");
    ExitCode::FAILURE
}

/// Connects to the cluster that `CHFS_SERVER` names, or to another one.
fn connect(server: Option<&str>) -> Result<(), String> {
    session::begin(server.map(str::as_bytes)).map_err(|failed| failed.to_string())
}

/// Prints to standard output. A reader that is gone is no fault.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => Err(failed.to_string()),
        _ => Ok(()),
    }
}
