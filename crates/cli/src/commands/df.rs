//! `futago df`: how full the servers are.

use crate::{
    cluster::ClusterFile,
    connection::Connection,
    exit::{Exit, Failures},
    output,
};
use clap::Args;
use futago_base::Space;
use serde::Serialize;

/// Arguments of `df`.
#[derive(Args)]
pub struct Df {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    /// The server's number; none for all of them together.
    server: Option<u16>,
    limit_bytes: u64,
    used_bytes: u64,
    free_bytes: u64,
    files: u64,
}

/// The columns for people.
const TITLES: [&str; 6] = ["server", "size", "used", "free", "use%", "files"];

impl Row {
    const fn new(server: Option<u16>, space: Space) -> Self {
        Self {
            server,
            limit_bytes: space.limit_bytes,
            used_bytes: space.used_bytes,
            free_bytes: space.free_bytes(),
            files: space.files,
        }
    }

    /// The columns of [`TITLES`].
    fn cells(&self) -> Vec<String> {
        let server = self.server.map(|server| server.to_string());
        vec![
            server.unwrap_or_else(|| "all".to_owned()),
            output::size(self.limit_bytes),
            output::size(self.used_bytes),
            output::size(self.free_bytes),
            format!("{}%", self.used_percent()),
            self.files.to_string(),
        ]
    }

    /// How full it is, rounded up as `df` does.
    const fn used_percent(&self) -> u64 {
        match self.limit_bytes {
            0 => 100,
            limit => self.used_bytes.saturating_mul(100).div_ceil(limit),
        }
    }
}

impl Df {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Asks every server. Exits with 1 if one does not reply; the others are listed all the same.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let mut rows = Vec::new();
        let mut total = Space::default();
        let mut failures = Failures::default();
        for server in connection.map().servers() {
            let space = match connection.space(server) {
                Ok(space) => space,
                Err(error) => {
                    failures.tell(&error);
                    continue;
                }
            };
            total.limit_bytes += space.limit_bytes;
            total.used_bytes += space.used_bytes;
            total.files += space.files;
            rows.push(Row::new(Some(server.0), space));
        }
        rows.push(Row::new(None, total));
        output::print(self.json, &rows, |rows| {
            let cells = rows.iter().map(Row::cells).collect();
            output::table(&TITLES, &[1, 2, 3, 4, 5], cells)
        })?;
        Ok(failures.exit())
    }
}
