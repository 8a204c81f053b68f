//! The directory of a server on its way to another host: what the two hosts do.
//!
//! ```text
//!   host that has it                     host that gets it
//!   server-3   is locked and sent  --->  server-3.coming-NAME, then server-3.copied
//!   server-3.moved                       server-3.copied
//!   server-3.moved                       server-3
//! ```
//!
//! At no time is there a `server-3` on both hosts, and a complete copy is on one of them. Each step
//! can be repeated after it broke off anywhere. While the steps last, the cluster file says that
//! nobody serves the server.

use super::data;
use anyhow::{Context, bail, ensure};
use futago_store::{Directory as _, StoreError, SystemDirectory};
use std::{
    fs::{self, File, TryLockError},
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::Xxh3Default;

/// How often a lock is tried.
const PAUSE: Duration = Duration::from_millis(5);
/// The files that are not sent: the lock, and the one that takes room on the disk.
const LEFT: [&str; 2] = ["lock", "reserve"];
/// The size of the pieces in which files are copied, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// The longest name of a file, in bytes.
const NAME_BYTES_MAX: u64 = 255;
/// The words to the sender when the copy is complete.
pub const RETIRE: &[u8] = b"retire\n";
/// The end of the name of a directory that was sent.
pub const MOVED: &str = ".moved";
/// The output of a host that has a directory.
pub const YES: &[u8] = b"yes";

/// The directory of a server.
pub struct ServerDirectory {
    directory: PathBuf,
    /// How long others may hold its locks.
    wait: Duration,
}

impl ServerDirectory {
    /// A directory, with which steps may wait so long for others.
    pub fn new(directory: &Path, wait: Duration) -> Self {
        Self {
            directory: directory.into(),
            wait,
        }
    }

    /// Sends the directory. When `confirmed` says that it has arrived, it gets another name here.
    ///
    /// # Errors
    /// A process uses it, or it cannot be read, sent or renamed.
    pub fn send(&self, output: impl Write, mut confirmed: impl Read) -> anyhow::Result<()> {
        let source = match self.directory.is_dir() {
            true => self.directory.clone(),
            // An earlier copy arrived, and its command ended before the server began.
            false => self.beside(MOVED),
        };
        ensure!(source.is_dir(), "there is no {}", self.directory.display());
        let locked = self.locked(&source)?;
        send_files(&source, &locked.run_of_system(), output)?;
        let mut answer = Vec::new();
        confirmed.read_to_end(&mut answer)?;
        ensure!(answer == RETIRE, "the copy was not confirmed");
        if source == self.directory {
            self.replace(&source, &self.beside(MOVED))?;
        }
        Ok(())
    }

    /// Receives the directory as a copy that no server uses yet.
    ///
    /// # Errors
    /// It is not complete, or cannot be written.
    pub fn receive(&self, input: impl Read) -> anyhow::Result<()> {
        let parent = data::make(self.parent()?)?;
        // The sender of a command that was killed may still be at it.
        let _lock = self.receiving()?;
        self.remove_incomplete(&parent)?;
        let coming = tempfile::Builder::new()
            .prefix(&self.incomplete()?)
            .tempdir_in(&parent)?;
        receive_files(coming.path(), input)?;
        sync(coming.path())?;
        self.replace(coming.path(), &self.beside(".copied"))
    }

    /// Makes the copy the directory of the server.
    ///
    /// # Errors
    /// There is no copy, or a process uses the directory.
    pub fn install(&self) -> anyhow::Result<()> {
        let copy = self.beside(".copied");
        ensure!(copy.is_dir(), "there is no {}", copy.display());
        if self.directory.is_dir() {
            // It came with an earlier command, which ended before the server began.
            drop(self.locked(&self.directory)?);
        }
        self.replace(&copy, &self.directory)?;
        remove(&self.beside(MOVED))
    }

    /// Removes the directory that was sent.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn clear(&self) -> anyhow::Result<()> {
        remove(&self.beside(MOVED))
    }

    /// Renames a directory durably. The one that had the name is removed.
    fn replace(&self, from: &Path, to: &Path) -> anyhow::Result<()> {
        remove(to)?;
        let renamed = fs::rename(from, to);
        renamed.with_context(|| format!("renaming {} to {}", from.display(), to.display()))?;
        sync(self.parent()?)
    }

    /// Waits until no process uses a directory.
    fn locked(&self, directory: &Path) -> anyhow::Result<SystemDirectory> {
        let deadline = Instant::now() + self.wait;
        loop {
            match SystemDirectory::open(directory) {
                Err(StoreError::InUse(_)) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                opened => return Ok(opened?),
            }
        }
    }

    /// Waits until nobody else receives the directory.
    fn receiving(&self) -> anyhow::Result<File> {
        let path = self.beside(".receiving");
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        let deadline = Instant::now() + self.wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => bail!("locking {}: {error}", path.display()),
            }
        }
    }

    fn remove_incomplete(&self, parent: &Path) -> anyhow::Result<()> {
        let prefix = self.incomplete()?;
        for entry in fs::read_dir(parent)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The beginning of the names of incomplete copies.
    fn incomplete(&self) -> anyhow::Result<String> {
        let name = self.directory.file_name().and_then(|name| name.to_str());
        Ok(format!(
            "{}.coming-",
            name.context("the directory has no name")?
        ))
    }

    fn parent(&self) -> anyhow::Result<&Path> {
        self.directory
            .parent()
            .context("the directory is no server's")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.directory.clone().into_os_string();
        path.push(ending);
        path.into()
    }
}

fn sync(directory: &Path) -> anyhow::Result<()> {
    let synchronized = File::open(directory).and_then(|directory| directory.sync_all());
    synchronized.with_context(|| format!("synchronizing {}", directory.display()))
}

fn remove(directory: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("removing {}", directory.display())),
    }
}

/// The mark of a directory in which everything is synchronized, as the receiver has it.
const CLOSED: &str = "closed";

/// The name of a file at the receiver. A server marks its directory with the present run of its
/// system, because a restart may lose what is not synchronized. The copy has lost nothing.
fn name_of_copy<'a>(name: &'a str, run_of_system: &str) -> &'a str {
    let marked = name.strip_suffix(run_of_system);
    match marked.is_some_and(|before| before.ends_with('-')) {
        true => CLOSED,
        false => name,
    }
}

/// Sends the files of a directory: for each the length of its name, its name, its size, its bytes;
/// then a zero, and a checksum of everything.
fn send_files(directory: &Path, run_of_system: &str, output: impl Write) -> anyhow::Result<()> {
    let mut output = Summed::of(BufWriter::with_capacity(PIECE_BYTES, output));
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a file of a server is not UTF-8")?;
        if LEFT.contains(&name) {
            continue;
        }
        let name = name_of_copy(name, run_of_system);
        let file = File::open(entry.path()).with_context(|| entry.path().display().to_string())?;
        let bytes = file.metadata()?.len();
        output.put(&(name.len() as u64).to_le_bytes())?;
        output.put(name.as_bytes())?;
        output.put(&bytes.to_le_bytes())?;
        output.put_all(file, bytes)?;
    }
    output.put(&0_u64.to_le_bytes())?;
    let sum = output.sum.digest();
    output.stream.write_all(&sum.to_le_bytes())?;
    Ok(output.stream.flush()?)
}

fn receive_files(directory: &Path, input: impl Read) -> anyhow::Result<()> {
    let mut input = Summed::of(BufReader::with_capacity(PIECE_BYTES, input));
    loop {
        let name_bytes = input.number()?;
        if name_bytes == 0 {
            break;
        }
        ensure!(name_bytes <= NAME_BYTES_MAX, "what comes is no directory");
        let mut name = vec![0; name_bytes as usize];
        input.take(&mut name)?;
        let name = String::from_utf8(name)?;
        ensure!(
            !name.contains('/') && !name.starts_with('.'),
            "{name:?} is no file of a server"
        );
        let bytes = input.number()?;
        let file = File::create_new(directory.join(&name)).with_context(|| name.clone())?;
        input.take_all(&file, bytes)?;
        file.sync_all()?;
    }
    let (expected, mut sum) = (input.sum.digest(), [0; 8]);
    input
        .stream
        .read_exact(&mut sum)
        .context("the copy broke off")?;
    ensure!(
        u64::from_le_bytes(sum) == expected,
        "the copy came with other bytes"
    );
    Ok(())
}

/// A stream, and the checksum of what went through it.
struct Summed<S> {
    stream: S,
    sum: Xxh3Default,
}

impl<S> Summed<S> {
    fn of(stream: S) -> Self {
        Self {
            stream,
            sum: Xxh3Default::new(),
        }
    }
}

impl<S: Write> Summed<S> {
    fn put(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.sum.update(bytes);
        Ok(self.stream.write_all(bytes)?)
    }

    fn put_all(&mut self, mut file: File, mut left: u64) -> anyhow::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        while left > 0 {
            let bytes = left.min(PIECE_BYTES as u64) as usize;
            file.read_exact(&mut piece[..bytes])?;
            self.put(&piece[..bytes])?;
            left -= bytes as u64;
        }
        Ok(())
    }
}

impl<S: Read> Summed<S> {
    fn take(&mut self, bytes: &mut [u8]) -> anyhow::Result<()> {
        self.stream
            .read_exact(bytes)
            .context("the copy broke off")?;
        self.sum.update(bytes);
        Ok(())
    }

    fn number(&mut self) -> anyhow::Result<u64> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn take_all(&mut self, mut file: &File, mut left: u64) -> anyhow::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        while left > 0 {
            let bytes = left.min(PIECE_BYTES as u64) as usize;
            self.take(&mut piece[..bytes])?;
            file.write_all(&piece[..bytes])?;
            left -= bytes as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A host with the directory of a server.
    struct Host {
        disk: TempDir,
        server: ServerDirectory,
    }

    fn host() -> Host {
        let disk = tempfile::tempdir().unwrap();
        let server = ServerDirectory::new(&disk.path().join("server-3"), Duration::ZERO);
        Host { disk, server }
    }

    fn host_with_server() -> Host {
        let host = host();
        fs::create_dir(host.disk.path().join("server-3")).unwrap();
        fs::write(host.disk.path().join("server-3/log"), vec![7; 3 << 20]).unwrap();
        fs::write(host.disk.path().join("server-3/data"), b"").unwrap();
        host
    }

    impl Host {
        fn names(&self) -> Vec<String> {
            let listed = fs::read_dir(self.disk.path()).unwrap().flatten();
            let names = listed.map(|entry| entry.file_name().into_string().unwrap());
            let mut names: Vec<_> = names.filter(|name| !name.ends_with("receiving")).collect();
            names.sort();
            names
        }

        fn log(&self) -> Vec<u8> {
            fs::read(self.disk.path().join("server-3/log")).unwrap()
        }

        /// The bytes that it sends, to a receiver that does not confirm it.
        fn sent(&self) -> Vec<u8> {
            let mut sent = Vec::new();
            self.server.send(&mut sent, &b""[..]).unwrap_err();
            sent
        }
    }

    #[test]
    fn a_directory_is_never_on_both_hosts() {
        let (from, to) = (host_with_server(), host());
        let mut sent = Vec::new();
        from.server.send(&mut sent, RETIRE).unwrap();
        assert_eq!(from.names(), ["server-3.moved"]);
        to.server.receive(&sent[..]).unwrap();
        assert_eq!(to.names(), ["server-3.copied"]);
        to.server.install().unwrap();
        assert_eq!(to.names(), ["server-3"]);
        assert_eq!(to.log(), vec![7; 3 << 20]);
        from.server.clear().unwrap();
        assert!(from.names().is_empty());
        assert!(to.server.install().is_err());
    }

    #[test]
    fn a_copy_that_broke_off_leaves_all_as_it_was() {
        let (from, to) = (host_with_server(), host());
        let sent = from.sent();
        assert_eq!(from.names(), ["server-3"]);
        for at in [0, 7, 100, sent.len() - 9, sent.len() - 1] {
            let error = to.server.receive(&sent[..at]).unwrap_err();
            assert!(error.to_string().contains("broke off"), "{error:#}");
            assert!(to.names().is_empty());
        }
        let mut spoilt = sent.clone();
        spoilt[1 << 20] ^= 1;
        assert!(to.server.receive(&spoilt[..]).is_err());
        fs::create_dir(to.disk.path().join("server-3.coming-of-a-killed-one")).unwrap();
        to.server.receive(&sent[..]).unwrap();
        assert_eq!(to.names(), ["server-3.copied"]);
    }

    #[test]
    fn all_steps_can_be_repeated() {
        let (from, to) = (host_with_server(), host());
        for _ in 0..3 {
            let mut sent = Vec::new();
            from.server.send(&mut sent, RETIRE).unwrap();
            to.server.receive(&sent[..]).unwrap();
            to.server.receive(&sent[..]).unwrap();
            to.server.install().unwrap();
        }
        assert_eq!(to.log(), vec![7; 3 << 20]);
        assert_eq!(from.names(), ["server-3.moved"]);
    }

    #[test]
    fn a_copy_has_lost_nothing_when_its_server_was_killed() {
        let (from, to) = (host_with_server(), host());
        let place = from.disk.path().join("server-3");
        let run = SystemDirectory::open(&place).unwrap().run_of_system();
        fs::write(place.join(format!("process-{run}")), b"").unwrap();
        to.server.receive(&from.sent()[..]).unwrap();
        to.server.install().unwrap();
        let names = fs::read_dir(to.disk.path().join("server-3")).unwrap();
        let mut names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["closed", "data", "log"]);
        // The losses of an earlier run of the system are those of the copy, too.
        assert_eq!(name_of_copy("process-earlier", &run), "process-earlier");
    }

    #[test]
    fn a_directory_in_use_is_not_sent() {
        let from = host_with_server();
        let used = SystemDirectory::open(&from.disk.path().join("server-3")).unwrap();
        let error = from.server.send(Vec::new(), RETIRE).unwrap_err();
        assert!(error.to_string().contains("in use"), "{error}");
        drop(used);
        from.server.send(Vec::new(), RETIRE).unwrap();
    }
}
