//! Ends the program when an operation hangs.

use crate::journal::Doing;
use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

/// The longest duration of an operation.
const OPERATION_MAX: Duration = Duration::from_secs(60);

/// Watches from a thread of its own. When an operation takes too long, it prints the operation of
/// each actor and the state of the kernel's requests. It then ends the program with exit code 1,
/// because that operation's thread may never return.
pub fn watch(doing: Vec<Doing>) {
    thread::spawn(move || {
        loop {
            thread::sleep(OPERATION_MAX / 60);
            let now: Vec<_> = doing.iter().filter_map(Doing::look).collect();
            if now.iter().all(|(since, _)| *since < OPERATION_MAX) {
                continue;
            }
            println!("an operation does not end; under way are:");
            for (since, what) in now {
                println!("  for {:.1} s {what}", since.as_secs_f64());
            }
            print_each("/proc/self/task", &["comm", "wchan"]);
            print_each("/sys/fs/fuse/connections", &["waiting"]);
            println!("0 passed, 1 failed, 0 skipped");
            process::exit(1);
        }
    });
}

/// Prints some files of each directory below a path: in which functions of the kernel threads of
/// this program wait, and how many requests of mounts are unanswered. Unreadable files are omitted.
fn print_each(path: &str, names: &[&str]) {
    for directory in fs::read_dir(path).into_iter().flatten().flatten() {
        let read = |name: &&str| fs::read_to_string(directory.path().join(Path::new(name))).ok();
        let texts: Vec<String> = names.iter().filter_map(read).collect();
        let texts: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        println!("  {}: {}", directory.path().display(), texts.join(" "));
    }
}
