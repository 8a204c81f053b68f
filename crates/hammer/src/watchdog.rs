//! Ends the program when an operation does not end.

use crate::journal::Doing;
use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

/// No operation takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches from a thread of its own. When an operation lasts too long, it prints what each actor is doing and where the
/// kernel has its requests, and ends the program with the exit code 1, as that operation's thread may never return.
pub fn watch(doing: Vec<Doing>) {
    thread::spawn(move || {
        loop {
            thread::sleep(PATIENCE / 60);
            let now: Vec<_> = doing.iter().filter_map(Doing::look).collect();
            if now.iter().all(|(since, _)| *since < PATIENCE) {
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

/// Prints some files of each of the kernel's directories below a path: in which of its functions threads of this program
/// wait, and how many requests of mounts have no answer. What cannot be read is left out.
fn print_each(path: &str, names: &[&str]) {
    for directory in fs::read_dir(path).into_iter().flatten().flatten() {
        let read = |name: &&str| fs::read_to_string(directory.path().join(Path::new(name))).ok();
        let texts: Vec<String> = names.iter().filter_map(read).collect();
        let texts: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        println!("  {}: {}", directory.path().display(), texts.join(" "));
    }
}
