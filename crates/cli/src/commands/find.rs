//! `futago find`: searches a tree at its servers.

mod arguments;
mod print;
mod words;

pub use words::with_two_dashes;

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
};
use anyhow::anyhow;
use arguments::{Days, Size, Types, User};
use clap::Args;
use futago_base::{
    Errno, Timestamp,
    search::{Case, Test},
};
use futago_client::SearchFailure;
use futago_node::search;
use print::{Form, Printer};
use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStrExt,
    sync::{Arc, atomic::AtomicBool},
    time::SystemTime,
};

/// Of further failures only the number is printed.
const FAILURES_MAX: u64 = 20;

/// Arguments of `find`.
///
/// Tests mean what they mean for GNU find; a file must pass all of them. One dash is as good as
/// two. Each server searches what it has, all of them side by side; the order of the files means
/// nothing.
#[derive(Args)]
pub struct Find {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The directory or file to begin with.
    #[arg(default_value = "/")]
    path: RemotePath,
    /// The name matches this glob; `?` and `[...]` match a character of UTF-8.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    name: Vec<OsString>,
    /// The same, whatever the case of letters.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    iname: Vec<OsString>,
    /// The size is N units, less (-N) or more (+N), rounded up to units of 512 bytes (b), bytes
    /// (c), 2 bytes (w), or 1024-based k, M, G.
    #[arg(long, value_name = "[+-]N[cwbkMG]", allow_hyphen_values = true)]
    size: Vec<Size>,
    /// Modified later than this file of the cluster.
    #[arg(long, value_name = "FILE")]
    newer: Vec<RemotePath>,
    /// Modified N days ago, less (-N) or more (+N); parts of days do not count.
    #[arg(long, value_name = "[+-]N", allow_hyphen_values = true)]
    mtime: Vec<Days>,
    /// Of one of these types, separated by commas: f, d, l, p, s, c, b.
    #[arg(long, value_name = "TYPES")]
    r#type: Vec<Types>,
    /// Owned by this user, by name or number.
    #[arg(long, value_name = "USER")]
    user: Vec<User>,
    /// No deeper than this; PATH itself has depth 0.
    #[arg(long, value_name = "DEPTH")]
    maxdepth: Option<u32>,
    /// Not less deep than this.
    #[arg(long, value_name = "DEPTH")]
    mindepth: Option<u32>,
    /// Print only how many there are.
    #[arg(long, conflicts_with = "print0")]
    count: bool,
    /// End paths with NUL and not with a newline.
    #[arg(long, conflicts_with = "json")]
    print0: bool,
    /// Print JSON: one object a line.
    #[arg(long)]
    json: bool,
}

impl Find {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Searches, until a signal ends it.
    pub fn run(self) -> anyhow::Result<Exit> {
        end_at_signals()?;
        let connection = Connection::open(&self.cluster.load()?)?;
        connection.attributes(&self.path)?;
        let search = self.search(&connection)?;
        let mut printer = Printer::new(self.form())?;
        let mut failures = Failures::default();
        for batch in connection.search(search) {
            printer.print(&batch)?;
            for failure in &batch.failures {
                failures.print_some(&describe(failure), FAILURES_MAX);
            }
        }
        printer.end()?;
        failures.print_rest(FAILURES_MAX, "could not be searched either");
        Ok(failures.exit())
    }

    const fn form(&self) -> Form {
        match (self.count, self.json, self.print0) {
            (true, true, _) => Form::JsonCount,
            (true, false, _) => Form::Count,
            (false, true, _) => Form::Json,
            (false, false, true) => Form::Nul,
            (false, false, false) => Form::Lines,
        }
    }

    fn search(&self, connection: &Connection) -> anyhow::Result<search::Find> {
        let mut search = search::Find::below(self.path.bytes());
        for test in self.tests(connection)? {
            search = search.test(test);
        }
        search = match self.form() {
            Form::Count | Form::JsonCount => search.counted(),
            Form::Json => search.with_attributes(),
            Form::Lines | Form::Nul => search,
        };
        let depth_max = self.maxdepth.unwrap_or(u32::MAX);
        let depth_min = self.mindepth.unwrap_or_default();
        Ok(search.depth_min(depth_min).depth_max(depth_max))
    }

    fn tests(&self, connection: &Connection) -> anyhow::Result<Vec<Test>> {
        let named = |glob: &OsString, case| {
            let glob = bytes::Bytes::copy_from_slice(glob.as_bytes());
            Test::Name { glob, case }
        };
        let now = now();
        let mut tests: Vec<Test> = Vec::new();
        tests.extend(self.name.iter().map(|glob| named(glob, Case::Matters)));
        tests.extend(self.iname.iter().map(|glob| named(glob, Case::Ignored)));
        tests.extend(self.r#type.iter().map(|types| Test::Kind(types.0)));
        tests.extend(self.size.iter().map(Size::test));
        tests.extend(self.user.iter().map(|user| Test::Owner(user.0)));
        tests.extend(self.mtime.iter().flat_map(|days| days.tests(now)));
        for file in &self.newer {
            let modified = connection.attributes(file)?.modified;
            tests.push(Test::ModifiedAfter(modified));
        }
        Ok(tests)
    }
}

/// Has a signal end this process at once, also while it waits for a server or a reader. The servers
/// have nothing of a search to give up.
fn end_at_signals() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let always = Arc::new(AtomicBool::new(true));
        let code = Exit::Interrupted as i32;
        signal_hook::flag::register_conditional_shutdown(signal, code, always)?;
    }
    Ok(())
}

fn describe(failure: &SearchFailure) -> anyhow::Error {
    let path = crate::output::escape(&failure.path);
    match failure.errno {
        Errno::EIO => anyhow!("{path}: a server does not answer; futago status tells which"),
        errno => anyhow!("{path}: {errno} ({})", errno.name()),
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    Timestamp {
        seconds: since.as_secs() as i64,
        nanos: since.subsec_nanos(),
    }
}
