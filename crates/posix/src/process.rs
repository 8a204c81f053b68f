//! The one client of the process.
//!
//! A child of the process gets a session of its own when it first calls: it forgets its parent's
//! client, connects, and opens the files again that its parent had open.

use crate::{descriptors::Descriptors, exit, fork, outcome::error};
use futago_node::{
    Cluster, Options,
    blocking::{File, FileSystem},
};
use std::{
    io, mem,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// The client and the open files of the process.
pub(crate) struct Process {
    session: Option<Session>,
    open: Descriptors,
}

struct Session {
    files: FileSystem,
    cluster: Cluster,
    options: Options,
    /// Whether it is the session of the parent of this process.
    is_inherited: bool,
}

static PROCESS: RwLock<Process> = RwLock::new(Process {
    session: None,
    open: Descriptors::new(),
});

fn read() -> RwLockReadGuard<'static, Process> {
    // Every change is made by assignments of whole values, so the state is whole after a panic.
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write() -> RwLockWriteGuard<'static, Process> {
    PROCESS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Connects, unless the process is connected.
///
/// # Errors
/// Those of [`FileSystem::connect`].
pub fn connect(cluster: &Cluster, options: Options) -> io::Result<()> {
    fork::prepare_for_children()?;
    exit::prepare()?;
    let mut process = write();
    if process.session.is_none() {
        process.session = Some(Session::new(cluster.clone(), options)?);
    }
    Ok(())
}

/// Whether the process is connected.
pub fn is_connected() -> bool {
    read().session.is_some()
}

/// Closes all files and ends the session.
///
/// # Errors
/// The first error of closing: data of that file may be lost. Everything is closed nevertheless.
pub fn disconnect() -> io::Result<()> {
    let mut process = write();
    let (session, open) = (process.session.take(), process.open.take());
    drop(process);
    if session.as_ref().is_some_and(|session| session.is_inherited) {
        mem::forget((session, open));
        return Ok(());
    }
    let closed = open.into_iter().flatten().map(close_file);
    closed.fold(Ok(()), Result::and)
}

/// The client.
///
/// # Errors
/// `ENOTCONN` before [`connect`]; in a child, those of connecting.
pub fn files() -> io::Result<FileSystem> {
    with_own(|process| match &process.session {
        Some(session) => Ok(session.files.clone()),
        None => Err(error(libc::ENOTCONN)),
    })
}

/// Gives an open file a number.
///
/// # Errors
/// `EMFILE`.
pub fn add(file: File) -> io::Result<libc::c_int> {
    write().open.add(Arc::new(file))
}

/// The file with this number.
///
/// # Errors
/// `EBADF`; in a child, those of connecting.
pub fn file(number: libc::c_int) -> io::Result<Arc<File>> {
    with_own(|process| process.open.get(number))
}

/// Gives the file with this number another number, too. Both share its position and its locks.
///
/// # Errors
/// As [`file`]; `EMFILE`.
pub fn duplicate(number: libc::c_int) -> io::Result<libc::c_int> {
    let file = file(number)?;
    write().open.add(file)
}

/// Has the servers hold all that the process has written. A loss is reported when the file is
/// synchronized or closed.
pub fn synchronize() {
    if let Ok(files) = files() {
        // A client that has stopped has nothing to write.
        let _ = files.synchronize();
    }
}

/// Frees a number and closes its file, when it has no other number and no other thread uses it.
///
/// # Errors
/// `EBADF`, or why earlier writes were lost.
pub fn close(number: libc::c_int) -> io::Result<()> {
    with_own(|_| Ok(()))?;
    let file = write().open.remove(number)?;
    close_file(file)
}

fn close_file(file: Arc<File>) -> io::Result<()> {
    match Arc::try_unwrap(file) {
        Ok(file) => file.close(),
        // Its last number, or the last thread that uses it, closes it.
        Err(used) => used.close_one(),
    }
}

/// Works with the state, after it has become this process's own.
fn with_own<T>(work: impl FnOnce(&Process) -> io::Result<T>) -> io::Result<T> {
    let process = read();
    if !process.is_inherited() {
        return work(&process);
    }
    drop(process);
    let mut process = write();
    process.take_over()?;
    work(&process)
}

impl Session {
    fn new(cluster: Cluster, options: Options) -> io::Result<Self> {
        Ok(Self {
            files: FileSystem::connect(&cluster, options.clone())?,
            cluster,
            options,
            is_inherited: false,
        })
    }
}

impl Process {
    fn is_inherited(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.is_inherited)
    }

    /// Leaves the session to the parent of this process.
    pub fn inherit(&mut self) {
        if let Some(session) = &mut self.session {
            session.is_inherited = true;
        }
    }

    /// Connects in place of the parent, and opens its files again. Numbers of files that are gone
    /// become free.
    fn take_over(&mut self) -> io::Result<()> {
        let Some(parent) = self.session.take_if(|session| session.is_inherited) else {
            return Ok(());
        };
        let own = Session::new(parent.cluster.clone(), parent.options.clone());
        match own {
            Ok(own) => {
                let open = self.open.map(|file| file.open_again(&own.files).ok());
                // Their threads and memory are the parent's.
                mem::forget((parent, mem::replace(&mut self.open, open)));
                self.session = Some(own);
                Ok(())
            }
            Err(failed) => {
                self.session = Some(parent);
                Err(failed)
            }
        }
    }
}
