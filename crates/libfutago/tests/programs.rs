//! C programs with the library on real servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../posix/tests/c_programs/mod.rs"]
mod c_programs;

use c_programs::{Library, Running, compilers};
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

const SOURCES: &str = env!("CARGO_MANIFEST_DIR");
const C: &str = "gcc -std=gnu99";

/// The static library that cargo has built last, whose name has a hash.
fn archive() -> PathBuf {
    let tests = env::current_exe().unwrap();
    let built = fs::read_dir(tests.parent().unwrap()).unwrap();
    let archives = built.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libfutago-") && name.ends_with(".a")
    });
    let built_at = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    archives.max_by_key(built_at).unwrap()
}

/// The shared library, which is linked once from what cargo has built.
fn shared() -> PathBuf {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    let link = || {
        let archive = archive();
        let shared = archive.with_file_name("libfutago.so.0");
        let mut command = Command::new(Path::new(SOURCES).join("link"));
        let status = command.arg(archive).arg(&shared).status().unwrap();
        assert!(status.success(), "{command:?}");
        shared
    };
    SHARED.get_or_init(link).clone()
}

fn start(count: u16) -> Running {
    let library = Library {
        name: "futago",
        shared: shared(),
        sources: SOURCES,
        variable: "FUTAGO_CLUSTER",
    };
    Running::start(library, count)
}

#[test]
fn the_header_compiles_as_c_and_as_cpp() {
    let running = start(1);
    for compiler in compilers().chain(["gcc -x c -std=c99"]) {
        let program = running.compile(compiler, "header");
        running.run(&mut running.command(program));
    }
}

#[test]
fn every_function_does_what_posix_says() {
    let running = start(4);
    let mut command = running.command("sh");
    let program = running.compile(C, "files");
    running.run(command.args(["-c", "umask 022; exec \"$0\""]).arg(program));
}

#[test]
fn operations_are_under_way_at_once() {
    let running = start(4);
    running.run(&mut running.command(running.compile(C, "queues")));
}

#[test]
fn children_of_a_process_have_sessions_of_their_own() {
    let running = start(2);
    running.run(&mut running.command(running.compile(C, "forks")));
}

#[test]
fn data_outlives_programs_that_end_without_closing() {
    let running = start(2);
    let program = running.compile(C, "exits");
    for word in ["write", "check"] {
        running.run(running.command(&program).arg(word));
    }
}

#[test]
fn a_killed_server_makes_errors_and_never_short_files() {
    let mut running = start(4);
    let program = running.compile(C, "killed");
    let mut command = running.command(program);
    running.run_while_a_server_ends(&mut command);
}

/// The library exports what the header declares, with a version, and nothing else.
#[test]
fn the_symbols_are_those_of_the_header() {
    let mut command = Command::new("nm");
    let output = command
        .args(["-D", "--defined-only"])
        .arg(shared())
        .output();
    let exported = String::from_utf8(output.unwrap().stdout).unwrap();
    let exported: BTreeSet<&str> = exported
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .filter(|name| *name != "FUTAGO_1")
        .collect();
    let header = include_str!("../include/futago.h");
    let declared: BTreeSet<String> = header
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '(')
        .filter_map(|word| word.split_once('('))
        .filter(|(name, _)| name.starts_with("futago_"))
        .map(|(name, _)| format!("{name}@@FUTAGO_1"))
        .collect();
    assert!(
        exported
            .iter()
            .copied()
            .eq(declared.iter().map(String::as_str))
    );
}
