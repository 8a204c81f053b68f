//! `futago ls`: lists a directory.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    output,
};
use clap::Args;
use futago_base::{Attributes, Kind};
use serde::Serialize;

/// Arguments of `ls`.
#[derive(Args)]
pub struct Ls {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The directory or file.
    #[arg(default_value = "/")]
    path: RemotePath,
    /// Kind, mode, links, owner, size and time of change too.
    #[arg(short, long)]
    long: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One line of a listing.
#[derive(Serialize)]
struct Row {
    /// Escaped as `output::escape` says.
    name: String,
    id: u64,
    kind: String,
    mode: String,
    links: u32,
    uid: u32,
    gid: u32,
    size: u64,
    modified_seconds: i64,
    modified_nanoseconds: u32,
}

impl Row {
    fn new(name: &[u8], attributes: &Attributes) -> Self {
        Self {
            name: output::escape(name),
            id: attributes.id.0,
            kind: format!("{:?}", attributes.kind).to_lowercase(),
            mode: format!("{:04o}", attributes.mode),
            links: attributes.links,
            uid: attributes.uid,
            gid: attributes.gid,
            size: attributes.size,
            modified_seconds: attributes.modified.seconds,
            modified_nanoseconds: attributes.modified.nanos,
        }
    }

    fn line(&self, long: bool) -> String {
        if !long {
            return format!("{}\n", self.name);
        }
        format!(
            "{:9} {} {:>4} {:>6} {:>6} {:>12} {:>11} {}\n",
            self.kind,
            self.mode,
            self.links,
            self.uid,
            self.gid,
            self.size,
            self.modified_seconds,
            self.name
        )
    }
}

impl Ls {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Lists.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let file = connection.resolve(&self.path)?;
        let mut rows = Vec::new();
        if file.kind == Kind::Directory {
            connection.each_entry(&self.path, file.id, |entry| {
                // A file that was removed since it was listed has no attributes.
                if let Some(attributes) = &entry.attributes {
                    rows.push(Row::new(entry.name.as_bytes(), attributes));
                }
                Ok(())
            })?;
            rows.sort_by(|a, b| a.name.cmp(&b.name));
        } else {
            rows.push(Row::new(self.path.bytes(), &file));
        }
        output::print(self.json, &rows, |rows| {
            rows.iter().map(|row| row.line(self.long)).collect()
        })?;
        Ok(Exit::Success)
    }
}
