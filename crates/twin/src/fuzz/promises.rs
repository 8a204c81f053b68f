//! Files of a client that makes them durable, and the states in which losses of power may leave
//! them.

use super::perform;
use crate::cluster::SimulatedContext;
use crate::model::{NewKind, Operation, Outcome};
use crate::random::Random;
use futago_base::{Duration, Errno, FileId, Name};
use futago_client::{Client, Context as _, RenameFlags};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

type Core = Client<SimulatedContext>;

/// The number of names in the client's directory.
const NAMES: u64 = 4;
/// The most bytes of a file: some chunks.
const BYTES_MAX: u64 = 9000;

/// The content of a file: so many bytes of one value; `None` if there is no file.
type State = Option<Filled>;

/// Bytes of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled {
    length: u32,
    tag: u8,
}

/// The knowledge of the files in a directory that only one client at a time changes.
pub(super) struct Promises {
    directory: FileId,
    random: Random,
    /// The states that a loss of power may leave. A name without an entry may have any.
    allowed: BTreeMap<Name, Vec<State>>,
    /// The work of the present session.
    seen: BTreeMap<Name, State>,
    /// The identities of the files that were made.
    pub made: Vec<FileId>,
    /// Whether no further operation shall begin.
    pub is_over: bool,
    /// The mistakes that its sessions have seen, one line each.
    pub mistakes: Vec<String>,
}

impl Promises {
    /// An empty directory.
    pub fn new(directory: FileId, random: Random) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            directory,
            random,
            allowed: BTreeMap::new(),
            seen: BTreeMap::new(),
            made: Vec::new(),
            is_over: false,
            mistakes: Vec::new(),
        }))
    }

    /// Another session goes on.
    pub fn begin_session(&mut self) {
        self.seen.clear();
    }

    /// The file has one of the states, and no other one.
    fn promise(&mut self, name: &Name, state: State) {
        self.allowed.insert(name.clone(), vec![state]);
    }

    /// The file may have another state from now on.
    fn allow(&mut self, name: &Name, state: State) {
        if let Some(allowed) = self.allowed.get_mut(name) {
            allowed.push(state);
        }
    }

    fn filled(&mut self) -> Filled {
        Filled {
            length: 1 + self.random.below(BYTES_MAX) as u32,
            tag: 1 + self.random.below(250) as u8,
        }
    }
}

/// A client at work in a directory.
pub(super) struct Worker {
    core: Rc<Core>,
    promises: Rc<RefCell<Promises>>,
    directory: FileId,
}

/// Makes a directory, and makes it durable.
pub(super) async fn make_directory(core: &Core, name: Name) -> Result<FileId, Errno> {
    let state = core
        .make_directory(FileId::ROOT, &name, 0o755, 0, 0)
        .await?;
    let id = state.attributes.id;
    core.make_durable(id).await?;
    core.make_durable(FileId::ROOT).await?;
    Ok(id)
}

impl Worker {
    /// A client at work.
    pub fn new(core: Rc<Core>, promises: Rc<RefCell<Promises>>) -> Self {
        promises.borrow_mut().begin_session();
        let directory = promises.borrow().directory;
        Self {
            core,
            promises,
            directory,
        }
    }

    /// Works with pauses of at most `idle` until it is over.
    pub async fn work(self, idle: Duration) {
        while !self.promises.borrow().is_over {
            let pause = self.draw(idle.0.max(1));
            self.core.context().sleep(Duration(pause)).await;
            // Where an operation fails, nothing is known of its file.
            let _ = self.step().await;
        }
    }

    fn draw(&self, below: u64) -> u64 {
        self.promises.borrow_mut().random.below(below)
    }

    fn draw_name(&self) -> Name {
        name(b'a' + self.draw(NAMES) as u8)
    }

    async fn step(&self) -> Result<(), Errno> {
        let name = self.draw_name();
        match self.draw(10) {
            0 | 1 => self.write(&name, false).await,
            2..5 => self.write(&name, true).await,
            5 | 6 => self.replace(&name).await,
            7 => self.remove(&name).await,
            _ => self.look(&name).await,
        }
    }

    /// Writes a file in its place, and makes it durable or not.
    async fn write(&self, name: &Name, is_durable: bool) -> Result<(), Errno> {
        let filled = self.promises.borrow_mut().filled();
        self.begin(name, None);
        let id = self.fill(name, filled).await?;
        if is_durable {
            self.core.make_durable(id).await?;
            self.core.make_durable(self.directory).await?;
            self.promises.borrow_mut().promise(name, Some(filled));
        }
        self.end(name, Some(filled));
        Ok(())
    }

    /// Fills a file, which is made if it is not there.
    async fn fill(&self, name: &Name, filled: Filled) -> Result<FileId, Errno> {
        let id = self.made(name).await?;
        perform(&self.core, &Operation::Truncate { id, size: 0 }).await?;
        let Filled { length, tag } = filled;
        let write = Operation::Write {
            id,
            offset: 0,
            length,
            tag,
        };
        perform(&self.core, &write).await?;
        Ok(id)
    }

    async fn made(&self, name: &Name) -> Result<FileId, Errno> {
        let create = Operation::Create {
            directory: self.directory,
            name: name.clone(),
            kind: NewKind::File(0),
            mode: 0o644,
            exclusive: false,
            open: false,
            tag: 0,
        };
        match perform(&self.core, &create).await? {
            Outcome::File(state, is_new) => {
                let id = state.attributes.id;
                self.promises.borrow_mut().made.extend(is_new.then_some(id));
                Ok(id)
            }
            _ => Err(Errno::EPROTO),
        }
    }

    /// Replaces a file by a durable one, so that there is always a whole one.
    async fn replace(&self, name: &Name) -> Result<(), Errno> {
        let filled = self.promises.borrow_mut().filled();
        let new = self::name(b'z');
        let id = self.fill(&new, filled).await?;
        self.core.make_durable(id).await?;
        self.begin(name, Some(Some(filled)));
        let (directory, flags) = (self.directory, RenameFlags::default());
        let renamed = self.core.rename(directory, &new, directory, name, flags);
        renamed.await?;
        self.end(name, Some(filled));
        self.perhaps_make_durable(name, Some(filled)).await
    }

    async fn remove(&self, name: &Name) -> Result<(), Errno> {
        self.begin(name, Some(None));
        match self.core.unlink(self.directory, name).await {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
        self.end(name, None);
        self.perhaps_make_durable(name, None).await
    }

    async fn perhaps_make_durable(&self, name: &Name, state: State) -> Result<(), Errno> {
        if self.draw(2) == 0 {
            self.core.make_durable(self.directory).await?;
            self.promises.borrow_mut().promise(name, state);
        }
        Ok(())
    }

    /// An operation begins that leaves the file in its state or in another one, or in any.
    fn begin(&self, name: &Name, state: Option<State>) {
        let mut promises = self.promises.borrow_mut();
        promises.seen.remove(name);
        match state {
            Some(state) => promises.allow(name, state),
            None => drop(promises.allowed.remove(name)),
        }
    }

    fn end(&self, name: &Name, state: State) {
        self.promises.borrow_mut().seen.insert(name.clone(), state);
    }

    /// Whether the session sees what it has done. A session that a loss has undone must be over.
    async fn look(&self, name: &Name) -> Result<(), Errno> {
        let found = read(&self.core, self.directory, name).await?;
        let mut promises = self.promises.borrow_mut();
        if let Some(expected) = promises.seen.get(name)
            && *expected != found
        {
            let text = format!("{name} has {found:?} in the session that has seen {expected:?}\n");
            promises.mistakes.push(text);
        }
        promises.seen.insert(name.clone(), found);
        Ok(())
    }
}

/// The files that are wrong after losses of power.
pub(super) async fn broken(
    core: &Core,
    promises: Rc<RefCell<Promises>>,
) -> Result<Vec<String>, Errno> {
    let (directory, allowed) = {
        let promises = promises.borrow();
        (promises.directory, promises.allowed.clone())
    };
    let mut broken = std::mem::take(&mut promises.borrow_mut().mistakes);
    for (name, allowed) in allowed {
        let found = read(core, directory, &name).await?;
        if !allowed.contains(&found) {
            broken.push(format!("{name} has {found:?}, not one of {allowed:?}\n"));
        }
    }
    Ok(broken)
}

/// The state of a file. One of several values has the tag 0.
async fn read(core: &Core, directory: FileId, name: &Name) -> Result<State, Errno> {
    let id = match core.lookup(directory, name).await {
        Ok(state) => state.attributes.id,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let bytes = core.read(id, 0, 2 * BYTES_MAX as u32).await?.bytes();
    let tag = bytes.first().copied().unwrap_or_default();
    let is_uniform = bytes.iter().all(|byte| *byte == tag);
    Ok(Some(Filled {
        length: bytes.len() as u32,
        tag: if is_uniform { tag } else { 0 },
    }))
}

fn name(letter: u8) -> Name {
    Name::new(vec![letter]).unwrap_or(Name::least())
}
