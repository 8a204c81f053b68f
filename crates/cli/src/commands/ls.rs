//! `futago ls`: lists a directory.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use clap::Args;
use futago_base::{Attributes, FileId, Kind};
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
    /// None if its server cannot be reached.
    #[serde(flatten)]
    details: Option<Details>,
}

/// What a file's server knows of it.
#[derive(Serialize)]
struct Details {
    mode: String,
    links: u32,
    uid: u32,
    gid: u32,
    size: u64,
    modified_seconds: i64,
    modified_nanoseconds: u32,
}

impl From<&Attributes> for Details {
    fn from(attributes: &Attributes) -> Self {
        Self {
            mode: format!("{:04o}", attributes.mode),
            links: attributes.links,
            uid: attributes.uid,
            gid: attributes.gid,
            size: attributes.size,
            modified_seconds: attributes.modified.seconds,
            modified_nanoseconds: attributes.modified.nanos,
        }
    }
}

impl Row {
    fn new(name: &[u8], (id, kind): (FileId, Kind), attributes: Option<&Attributes>) -> Self {
        Self {
            name: output::escape(name),
            id: id.0,
            kind: format!("{kind:?}").to_lowercase(),
            details: attributes.map(Details::from),
        }
    }

    fn line(&self, long: bool) -> String {
        let (kind, name) = (&self.kind, &self.name);
        match &self.details {
            _ if !long => format!("{name}\n"),
            None => format!(
                "{kind:9} {:4} {:>4} {:>6} {:>6} {:>12} {:>11} {name}\n",
                "?", "?", "?", "?", "?", "?"
            ),
            Some(of) => format!(
                "{kind:9} {} {:>4} {:>6} {:>6} {:>12} {:>11} {name}\n",
                of.mode, of.links, of.uid, of.gid, of.size, of.modified_seconds
            ),
        }
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
        let mut failures = Failures::default();
        if file.kind == Kind::Directory {
            let listed = connection.each_entry(&self.path, file.id, |entry| {
                let name = entry.name.as_bytes();
                let attributes = connection.listed(&self.path.join(name), file.id, entry);
                let of = (entry.entry.id, entry.entry.kind);
                match attributes {
                    Ok(Some(attributes)) => rows.push(Row::new(name, of, Some(&attributes))),
                    // It was removed since it was listed.
                    Ok(None) => {}
                    Err(error) => {
                        failures.tell(&error);
                        rows.push(Row::new(name, of, None));
                    }
                }
                Ok(())
            });
            failures.go_on(listed)?;
            rows.sort_by(|a, b| a.name.cmp(&b.name));
        } else {
            let of = (file.id, file.kind);
            rows.push(Row::new(self.path.bytes(), of, Some(&file)));
        }
        output::print(self.json, &rows, |rows| {
            rows.iter().map(|row| row.line(self.long)).collect()
        })?;
        Ok(failures.exit())
    }
}
