//! C programs with the library on real servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../posix/tests/c_programs/mod.rs"]
mod c_programs;

use c_programs::{Library, Running, compilers};
use std::{env, fs};

fn start(count: u16) -> Running {
    let library = Library {
        name: "chfs",
        shared: env::current_exe().unwrap().with_file_name("libchfs.so"),
        sources: env!("CARGO_MANIFEST_DIR"),
        variable: "CHFS_SERVER",
    };
    Running::start(library, count)
}

const C: &str = "gcc -std=gnu99";

#[test]
fn the_header_compiles_as_c_and_as_cpp() {
    let running = start(1);
    for compiler in compilers() {
        let program = running.compile(compiler, "header");
        running.run(&mut running.command(program));
    }
}

#[test]
fn every_function_does_what_posix_says() {
    for buffer in ["0", "65536"] {
        let running = start(4);
        fs::write(running.at("local"), b"staged\0\0").unwrap();
        let mut command = running.command(running.compile(C, "files"));
        running.run(command.arg("local").env("CHFS_BUF_SIZE", buffer));
    }
}

#[test]
fn programs_of_chfs_find_its_deviations_when_they_ask_for_them() {
    let running = start(2);
    let program = running.compile(C, "compatible");
    let mut command = running.command(program);
    let settings = [("CHFS_COMPAT", "1"), ("CHFS_SUBDIR_PATH", "/mnt/chfs")];
    running.run(command.envs(settings));
}

#[test]
fn children_of_a_process_have_sessions_of_their_own() {
    let running = start(2);
    let program = running.compile(C, "forks");
    for buffer in ["0", "65536"] {
        running.run(running.command(&program).env("CHFS_BUF_SIZE", buffer));
    }
}

#[test]
fn data_outlives_programs_that_end_without_closing() {
    let running = start(2);
    let program = running.compile(C, "exits");
    for word in ["write", "check"] {
        let mut command = running.command(&program);
        running.run(command.arg(word).env("CHFS_BUF_SIZE", "65536"));
    }
}

#[test]
fn a_killed_server_makes_errors_and_never_short_files() {
    let mut running = start(4);
    let program = running.compile(C, "killed");
    let mut command = running.command(program);
    running.run_while_a_server_ends(command.env("CHFS_RPC_TIMEOUT_MSEC", "1000"));
}

#[test]
fn ranks_of_mpi_programs_find_what_others_have_written() {
    for (ranks, buffer) in [("2", "0"), ("4", "65536")] {
        let running = start(4);
        let program = running.compile("mpicc -std=gnu99 -Wno-cast-function-type", "patterns");
        let mut command = running.command("mpirun");
        command.env("CHFS_BUF_SIZE", buffer);
        running.run(command.args(["-n", ranks]).arg(program));
    }
}
