//! `futago ls`: lists a directory.

mod line;

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use clap::{ArgAction, Args};
use futago_base::{Attributes, FileId, Kind, record::Entry};
use serde::{Serialize, Serializer};

/// Arguments of `ls`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Ls {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The directory or file.
    #[arg(default_value = "/")]
    path: RemotePath,
    /// Print permissions, links, owner, group, size, time and targets of links, too.
    #[arg(short, long)]
    long: bool,
    /// Names that begin with a dot too. JSON always has them.
    #[arg(short, long)]
    all: bool,
    /// A directory itself and not what is in it.
    #[arg(short, long)]
    directory: bool,
    /// Sizes with units.
    #[arg(short, long)]
    human_readable: bool,
    /// Owners and groups by number.
    #[arg(short, long)]
    numeric_uid_gid: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print help.
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// One line of a listing.
#[derive(Serialize)]
struct Row {
    /// Escaped as `output::escape` says.
    name: String,
    id: u64,
    #[serde(serialize_with = "kind_name")]
    kind: Kind,
    /// Where a symbolic link leads, if that is asked for and can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// None if its server cannot be reached.
    #[serde(flatten)]
    details: Option<Details>,
}

/// The attributes of a file at its server.
#[derive(Serialize)]
pub struct Details {
    #[serde(serialize_with = "octal")]
    mode: u16,
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
            mode: attributes.mode,
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
    fn new(name: &[u8], id: FileId, kind: Kind, attributes: Option<&Attributes>) -> Self {
        Self {
            name: output::escape(name),
            id: id.0,
            kind,
            target: None,
            details: attributes.map(Details::from),
        }
    }
}

fn kind_name<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{kind:?}").to_lowercase())
}

fn octal<S: Serializer>(mode: &u16, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{mode:04o}"))
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
        let mut failures = Failures::default();
        let rows = if file.kind == Kind::Directory && !self.directory {
            self.entries(&connection, file.id, &mut failures)?
        } else {
            vec![Row::new(self.path.bytes(), file.id, file.kind, Some(&file))]
        };
        let form = line::Form {
            human_readable: self.human_readable,
            numeric: self.numeric_uid_gid,
        };
        output::print(self.json, &rows, |rows| match self.long {
            true => line::long(rows, form),
            false => line::short(rows),
        })?;
        Ok(failures.exit())
    }

    fn entries(
        &self,
        connection: &Connection,
        directory: FileId,
        failures: &mut Failures,
    ) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let listed = connection.each_entry(&self.path, directory, |entry| {
            let name = entry.name.as_bytes();
            if name.starts_with(b".") && !self.all && !self.json {
                return Ok(());
            }
            let path = self.path.join(name);
            let Entry { id, kind, .. } = entry.entry;
            match connection.listed(&path, directory, entry) {
                Ok(Some(attributes)) => {
                    let row = Row::new(name, id, kind, Some(&attributes));
                    rows.push(self.with_target(connection, &path, row, failures));
                }
                // It was removed since it was listed.
                Ok(None) => {}
                Err(error) => {
                    failures.tell(&error);
                    rows.push(Row::new(name, id, kind, None));
                }
            }
            Ok(())
        });
        failures.go_on(listed)?;
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rows)
    }

    fn with_target(
        &self,
        connection: &Connection,
        path: &RemotePath,
        row: Row,
        failures: &mut Failures,
    ) -> Row {
        if !self.long || row.kind != Kind::Symlink {
            return row;
        }
        let target = match connection.read_link(path, FileId(row.id)) {
            Ok(target) => Some(output::escape(&target)),
            Err(error) => {
                failures.tell(&error);
                None
            }
        };
        Row { target, ..row }
    }
}
