//! Prints what a search finds.

use super::super::ls::Details;
use crate::output;
use futago_client::{FoundFile, SearchBatch};
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// How files are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A path a line, as its bytes.
    Lines,
    /// Paths as their bytes, each with NUL at its end.
    Nul,
    /// An object a line.
    Json,
    /// Their number.
    Count,
    /// Their number in an object.
    JsonCount,
}

/// One file as JSON.
#[derive(Serialize)]
struct Row {
    /// Escaped as `output::escape` says.
    path: String,
    id: u64,
    kind: String,
    #[serde(flatten)]
    details: Option<Details>,
}

#[derive(Serialize)]
struct Counted {
    count: u64,
}

pub struct Printer {
    form: Form,
    out: BufWriter<StdoutLock<'static>>,
    matches: u64,
}

impl Printer {
    pub fn new(form: Form) -> Self {
        Self {
            form,
            out: BufWriter::new(io::stdout().lock()),
            matches: 0,
        }
    }

    /// Prints some results.
    pub fn print(&mut self, batch: &SearchBatch) -> anyhow::Result<()> {
        self.matches += batch.matches;
        let mut files = batch.files.iter();
        let written = files.try_for_each(|file| self.write(file));
        self.written(written)
    }

    /// Prints what follows all results.
    pub fn end(&mut self) -> anyhow::Result<()> {
        let count = self.matches;
        let written = match self.form {
            Form::Count => writeln!(self.out, "{count}"),
            Form::JsonCount => self.write_json(&Counted { count }),
            _ => Ok(()),
        };
        self.written(written)
    }

    fn written(&mut self, written: io::Result<()>) -> anyhow::Result<()> {
        let flushed = written.and_then(|()| self.out.flush());
        flushed.map_err(|error| output::reader_gone(error.into()))
    }

    fn write(&mut self, file: &FoundFile) -> io::Result<()> {
        match self.form {
            Form::Lines => self.write_path(file, b"\n"),
            Form::Nul => self.write_path(file, b"\0"),
            Form::Json => self.write_json(&Row {
                path: output::escape(&file.path),
                id: file.entry.id.0,
                kind: format!("{:?}", file.entry.kind).to_lowercase(),
                details: file.attributes.as_deref().map(Details::from),
            }),
            Form::Count | Form::JsonCount => Ok(()),
        }
    }

    fn write_path(&mut self, file: &FoundFile, end: &[u8]) -> io::Result<()> {
        self.out.write_all(&file.path)?;
        self.out.write_all(end)
    }

    fn write_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }
}
