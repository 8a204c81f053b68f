//! Ends the program when an operation does not end.

use crate::journal::Doing;
use std::process;
use std::thread;
use std::time::Duration;

/// No operation takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches from a thread of its own. When an operation lasts too long, it prints what each actor is doing and
/// ends the program with the exit code 1, as that operation's thread may never return.
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
            println!("0 passed, 1 failed, 0 skipped");
            process::exit(1);
        }
    });
}
