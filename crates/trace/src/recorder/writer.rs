//! The thread that writes.

use super::event::Event;
use super::story::{Story, push};
use crate::{End, Header};
use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, TryRecvError},
    thread,
    time::Duration,
};

/// The bytes of text that are written at once.
const TEXT_BYTES: usize = 1 << 16;

/// How long the thread collects operations after it was woken. Waking it for each operation would
/// cost the caller more than the report itself.
const GATHER: Duration = Duration::from_millis(5);

/// The input of the thread.
#[derive(Debug)]
pub enum Message {
    Event(Event),
    /// The recording is complete.
    End,
}

/// A file that is written in whole lines.
pub struct Writer<W> {
    file: W,
    name: String,
    text: Vec<u8>,
    story: Story,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn begin(file: W, name: String) -> io::Result<Self> {
        let mut writer = Self {
            file,
            name,
            text: Vec::new(),
            story: Story::default(),
        };
        push(&mut writer.text, &Header::default());
        writer.write()?;
        Ok(writer)
    }

    /// Writes until the end of the recording. Fails if the recording ended early.
    pub fn run(mut self, messages: &Receiver<Message>) -> io::Result<()> {
        let name = std::mem::take(&mut self.name);
        let result = self.write_all(messages);
        if let Err(error) = &result {
            tracing::warn!(%name, %error, "the recording is cut; what is recorded goes on");
        }
        result
    }

    fn write_all(mut self, messages: &Receiver<Message>) -> io::Result<()> {
        loop {
            let message = match messages.try_recv() {
                Ok(message) => Some(message),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    self.write()?;
                    let next = messages.recv().ok();
                    thread::sleep(GATHER);
                    next
                }
            };
            match message {
                Some(Message::Event(event)) => self.story.tell(event, &mut self.text),
                Some(Message::End) => return self.end(),
                None => {
                    self.write()?;
                    let reason = "operations came faster than they were written";
                    return Err(io::Error::other(reason));
                }
            }
            if self.text.len() >= TEXT_BYTES {
                self.write()?;
            }
        }
    }

    fn end(mut self) -> io::Result<()> {
        let end = std::mem::take(&mut self.story).end(&mut self.text);
        push(&mut self.text, &End { end });
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.text);
        self.text.clear();
        written.and_then(|()| self.file.flush())
    }
}
