//! Prints what a search finds.

use super::super::ls::Details;
use crate::output;
use futago_client::{FoundFile, SearchBatch};
use serde::Serialize;
use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
};

/// The most bytes of one write of several lines: a pipe takes so many whole or not at all.
const WRITE_BYTES: usize = 4096;

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
    out: WholeLines,
    matches: u64,
}

impl Printer {
    pub fn new(form: Form) -> io::Result<Self> {
        Ok(Self {
            form,
            out: WholeLines::to_standard_output()?,
            matches: 0,
        })
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
            Form::Count => self.out.write(&[count.to_string().as_bytes(), b"\n"]),
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
            Form::Lines => self.out.write(&[&file.path, b"\n"]),
            Form::Nul => self.out.write(&[&file.path, b"\0"]),
            Form::Json => self.write_json(&Row {
                path: output::escape(&file.path),
                id: file.entry.id.0,
                kind: format!("{:?}", file.entry.kind).to_lowercase(),
                details: file.attributes.as_deref().map(Details::from),
            }),
            Form::Count | Form::JsonCount => Ok(()),
        }
    }

    fn write_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_vec(value)?;
        self.out.write(&[&line, b"\n"])
    }
}

/// Lines that are written whole, so that a signal leaves no half of one.
struct WholeLines {
    out: File,
    waiting: Vec<u8>,
}

impl WholeLines {
    fn to_standard_output() -> io::Result<Self> {
        // The standard library's own would write in pieces.
        let out = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self {
            out: out.into(),
            waiting: Vec::new(),
        })
    }

    fn write(&mut self, line: &[&[u8]]) -> io::Result<()> {
        let length: usize = line.iter().map(|part| part.len()).sum();
        if self.waiting.len() + length > WRITE_BYTES {
            self.flush()?;
        }
        line.iter().for_each(|part| self.waiting.extend(*part));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.waiting);
        self.waiting.clear();
        written
    }
}
