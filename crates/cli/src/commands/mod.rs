//! The subcommands, one file each.

mod announce;
mod backing;
mod bench;
mod carry;
mod cat;
mod completion;
mod des;
mod df;
mod doctor;
mod down;
mod find;
mod flush;
mod fsck;
mod get;
mod grow;
mod lab;
mod log;
mod ls;
mod mount;
mod pin;
mod put;
mod reference;
mod restart;
mod rm;
mod serve;
mod shrink;
mod stage;
mod status;
mod top;
mod twin;
mod umount;
mod up;
mod warm;

pub use find::with_two_dashes;

use crate::exit::Exit;
use clap::Subcommand;

macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident($arguments:ty),)*) => {
        /// A subcommand with its arguments.
        #[derive(Subcommand)]
        pub enum Command {
            $($(#[$doc])* $variant($arguments),)*
        }

        impl Command {
            /// Runs it.
            pub fn run(self) -> anyhow::Result<Exit> {
                match self { $(Self::$variant(arguments) => arguments.run(),)* }
            }

            /// The role of the process that runs it, for the log.
            pub fn role(&self) -> String {
                match self {
                    Self::Serve(serve) => serve.role(),
                    Self::Mount(_) => "mount".to_owned(),
                    Self::Backing(_) => "backing".to_owned(),
                    _ => "command".to_owned(),
                }
            }

            /// Whether errors are printed as JSON, too.
            pub const fn wants_json(&self) -> bool {
                match self { $(Self::$variant(arguments) => arguments.json(),)* }
            }
        }
    };
}

commands! {
    /// Start a cluster, and mount it if asked to.
    Up(up::Up),
    /// End a cluster and everything that belongs to it, also after a crash.
    Down(down::Down),
    /// Start a server again that has ended; without `up --data` it comes back empty.
    Restart(restart::Restart),
    /// Start more server processes, and move servers to them while programs work.
    Grow(grow::Grow),
    /// Move the servers of a process to the others, and end it.
    Shrink(shrink::Shrink),
    /// Tell how the servers are, or where a directory or file lies.
    Status(status::Status),
    /// Show what servers do right now.
    Top(top::Top),
    /// Print what servers and mounts have logged.
    Log(log::Log),
    /// Mount a cluster's file system at a directory.
    Mount(mount::Mount),
    /// Take a mount away.
    Umount(umount::Umount),
    /// Tell how full the servers are.
    Df(df::Df),
    /// List a directory.
    Ls(ls::Ls),
    /// Search a tree for files, at all servers side by side.
    Find(find::Find),
    /// Write files to standard output.
    Cat(cat::Cat),
    /// Copy local files into the cluster.
    Put(put::Put),
    /// Copy files out of the cluster.
    Get(get::Get),
    /// Copy trees in and out with many clients; an interrupted copy can be continued.
    Stage(stage::Stage),
    /// Write changes back to the backing store, and wait for it.
    Flush(flush::Flush),
    /// Read files into the caches of clients, with one copy out of the servers.
    Warm(warm::Warm),
    /// Have the caches of clients keep files in preference to others.
    Pin(pin::Pin),
    /// End that.
    Unpin(pin::Unpin),
    /// Remove files.
    Rm(rm::Rm),
    /// Check that all records of all servers fit together, and mend them.
    Fsck(fsck::Fsck),
    /// Measure a cluster or a directory with several client processes.
    Bench(bench::Bench),
    /// Tell what this host lacks.
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell.
    Completion(completion::Completion),
    /// Predict: run the same code as servers and clients do on machines that do not exist.
    Twin(twin::Twin),
    /// Run studies, and write reports with figures.
    Lab(lab::Lab),
    /// Simulate: models and benchmarks of the parallel discrete-event engine.
    Des(des::Des),
    /// Write man pages, completion scripts and the reference of all commands.
    #[command(hide = true)]
    Reference(reference::Reference),
    /// Run the servers of one process of a cluster, as `up` does.
    #[command(hide = true)]
    Serve(serve::Serve),
    /// Have server processes of this host read a new cluster file, as `grow` does.
    #[command(hide = true)]
    Announce(announce::Announce),
    /// Move the directory of a server to another host, as `grow` does.
    #[command(hide = true)]
    Carry(carry::Carry),
    /// Write changes back to the backing store, as `up --backing` has it done.
    #[command(hide = true)]
    Backing(backing::Agent),
}
