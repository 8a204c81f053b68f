//! One request on its way through the adapter.

use crate::answer::Answer;
use crate::direct_changes::DirectChanges;
use crate::directory_nodes::DirectoryNodes;
use crate::gone_directories::GoneDirectories;
use crate::interruption::{Interruption, Interruptions};
use crate::kept_listings::KeptListings;
use crate::kept_pages::KeptPages;
use crate::kernel_names::KernelNames;
use crate::listing::Cuts;
use crate::lock_notes::LockNotes;
use crate::open_files::OpenFiles;
use crate::retried_walks::RetriedWalks;
use crate::told_nodes::ToldNodes;
use crate::translate;
use crate::unsynchronized::Unsynchronized;
use futago_base::{Attributes, Duration, Errno, FileId, Kind, Name};
use futago_client::Context;
use futago_fuse_kernel::{Entry, Forget, Header};
use futago_node::{RecordedClient, Starter};
use std::fs;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time;

const ZERO: time::Duration = time::Duration::ZERO;

/// The kernel counts from when it takes an answer in; that it may do so late must not make it use something for too long.
const fn validity(trust: Duration) -> time::Duration {
    time::Duration::from_nanos(trust.0 / 2)
}

/// How often a request whose caller got a signal looks whether the caller is being killed.
const KILLED_POLL: Duration = Duration::from_millis(100);
/// How long a caller that got a signal waits to hear what became of its wait for a lock.
const CANCEL_MAX: Duration = Duration::from_secs(1);
/// SIGKILL's bit in the masks of `/proc/PID/status`.
const KILL_BIT: u64 = 1 << (libc::SIGKILL - 1);

/// What a mount's requests share.
#[derive(Debug)]
pub struct Shared {
    /// Begins operations of the mount's client.
    pub starter: Starter,
    /// Requests under way.
    pub interruptions: Interruptions,
    /// Locks that were asked for.
    pub locks: LockNotes,
    /// Listings that were cut between names of one hash.
    pub cuts: Cuts,
    /// Directories that the kernel knows.
    pub directories: DirectoryNodes,
    /// Files that the kernel may keep attributes of.
    pub told: ToldNodes,
    /// Names that the kernel may use without asking.
    pub names: KernelNames,
    /// Files that the kernel may keep pages of.
    pub pages: KeptPages,
    /// Changes of data past these pages.
    pub direct_changes: DirectChanges,
    /// Directories that the kernel may keep listings of.
    pub listings: KeptListings,
    /// Which open files were written to.
    pub unsynchronized: Unsynchronized,
    /// Which session has which file open.
    pub open_files: OpenFiles,
    /// Attributes of directories, for when these are gone.
    pub gone_directories: GoneDirectories,
    /// Threads for which the kernel walks a path again.
    pub retried_walks: RetriedWalks,
}

impl Shared {
    /// What a mount begins with.
    pub fn new(starter: Starter) -> Self {
        Self {
            starter,
            interruptions: Interruptions::default(),
            locks: LockNotes::default(),
            cuts: Cuts::default(),
            directories: DirectoryNodes::default(),
            told: ToldNodes::default(),
            names: KernelNames::default(),
            pages: KeptPages::default(),
            direct_changes: DirectChanges::default(),
            listings: KeptListings::default(),
            unsynchronized: Unsynchronized::default(),
            open_files: OpenFiles::default(),
            gone_directories: GoneDirectories::default(),
            retried_walks: RetriedWalks::default(),
        }
    }

    /// The kernel forgets nodes, or was not told of them after all.
    pub fn forget(&self, forgotten: &[Forget]) {
        self.directories.forget(forgotten, |directory| {
            self.listings.forget(directory);
            self.cuts.forget(directory);
            self.gone_directories.forget(directory);
        });
        self.told.forget(forgotten);
        for forget in forgotten {
            if !self.knows(forget.node) {
                self.names.forget(forget.node);
            }
            if !self.told.contains(forget.node) {
                self.pages.forget(forget.node);
            }
        }
    }

    /// Has the kernel drop what it keeps of a listing. Blocks while somebody lists the directory from it. Returns how many parts had
    /// been told.
    ///
    /// # Errors
    /// When the mount is gone.
    pub fn drop_listing(&self, directory: FileId) -> io::Result<u64> {
        let nodes = self.directories.nodes(directory);
        self.listings.drop_pages(directory, &nodes)
    }

    /// Whether the kernel knows a node that it was told of, or is about to.
    pub fn knows(&self, node: u64) -> bool {
        self.told.contains(node) || self.directories.contains(node)
    }
}

/// A request's surroundings.
pub struct Call {
    /// The client that does the work.
    pub client: Arc<RecordedClient>,
    /// What the mount's requests share.
    pub shared: Arc<Shared>,
    /// Who asks, and about what.
    pub header: Header,
    /// The file that the request is about; for names, their directory.
    pub file: FileId,
    /// Whether the caller got a signal.
    pub interruption: Arc<Interruption>,
}

impl Call {
    /// Does something with an open file, in the session that has opened it.
    ///
    /// # Errors
    /// `ESTALE` if that session is over, and those of the operation.
    pub async fn on_open_file<T>(
        &self,
        handle: u64,
        operation: Pin<&mut impl Future<Output = Result<T, Errno>>>,
    ) -> Result<T, Errno> {
        let session = self.shared.open_files.session(handle);
        let session = session.ok_or(Errno::EBADF)?;
        self.client.in_session(session, operation).await
    }

    /// What a name of the request's directory leads to, with a node, and for how long it may be kept.
    pub fn entry(&self, name: &Name, of: &Attributes) -> Entry {
        let told = &self.shared.told;
        let entry = Entry {
            entry_valid: self.keep_name(name, Some(of.id)),
            attributes_valid: self.attributes_valid(of),
            ..self.node(name, of)
        };
        told.tell(entry.node, entry.attributes_valid > ZERO);
        entry
    }

    /// A node that the kernel has a handle of.
    pub fn unnamed_entry(&self, of: &Attributes) -> Entry {
        let nodes = &self.shared.directories;
        let node = match of.kind {
            Kind::Directory => {
                let node = nodes.found_unnamed(of.id);
                self.shared.gone_directories.tell(of);
                node
            }
            _ => of.id.0,
        };
        self.shared.told.tell(node, false);
        Entry {
            generation: nodes.generation(node),
            ..translate::entry(node, of)
        }
    }

    /// Lets the kernel keep that a name of the request's directory leads to a file, or to none, and
    /// says for how long.
    pub fn keep_name(&self, name: &Name, id: Option<FileId>) -> time::Duration {
        let valid = self.name_valid(name, id);
        if valid > ZERO {
            let at = (self.header.node, name);
            self.shared.names.tell(at, valid, self.header.pid);
        }
        valid
    }

    fn name_valid(&self, name: &Name, id: Option<FileId>) -> time::Duration {
        let (told, directories) = (&self.shared.told, &self.shared.directories);
        let are_expired = self.shared.names.are_expired(self.header.node);
        if told.keeps_names() && directories.is_single(self.file) && are_expired {
            validity(self.client.name_trust(self.file, name, id))
        } else {
            ZERO
        }
    }

    fn node(&self, name: &Name, of: &Attributes) -> Entry {
        let nodes = &self.shared.directories;
        let node = match of.kind {
            Kind::Directory => {
                let node = nodes.found(self.header.node, name, of.id);
                self.shared.gone_directories.tell(of);
                node
            }
            _ => of.id.0,
        };
        Entry {
            generation: nodes.generation(node),
            ..translate::entry(node, of)
        }
    }

    /// To be called before [`Call::entry`] for what was looked up: has the kernel forget what it keeps of a directory
    /// that it is about to know in a further place.
    pub async fn prepare_entry(&self, name: &Name, of: &Attributes) {
        let nodes = &self.shared.directories;
        let parent = self.header.node;
        if of.kind == Kind::Directory && nodes.is_found_elsewhere(parent, name, of.id) {
            self.client.context().forget(of.id).await;
        }
    }

    /// The same as an answer.
    pub fn answer_entry(&self, name: &Name, of: &Attributes) -> Answer {
        Answer::Entry(self.entry(name, of))
    }

    /// For how long the kernel may keep attributes, and use pages without asking for them.
    pub fn attributes_valid(&self, of: &Attributes) -> time::Duration {
        let is_single = || self.shared.directories.is_single(of.id);
        if !self.shared.told.keeps_attributes() || of.kind == Kind::Directory && !is_single() {
            return ZERO;
        }
        let may_keep = match of.kind {
            Kind::Directory => self.allow_listing(of.id) && self.are_names_expired(of.id),
            _ => {
                let trust = self.client.data_trust(of.id);
                self.shared.pages.trust(of.id.0, trust) == Some(true)
            }
        };
        if may_keep {
            validity(self.client.attributes_trust(of))
        } else {
            ZERO
        }
    }

    fn are_names_expired(&self, directory: FileId) -> bool {
        let nodes = self.shared.directories.nodes(directory);
        let names = &self.shared.names;
        nodes.into_iter().all(|node| names.are_expired(node))
    }

    /// Whether the kernel may use what it has of a listing.
    pub fn allow_listing(&self, directory: FileId) -> bool {
        let period = self.listing_period(directory);
        self.shared.listings.allow_attributes(directory, period)
    }

    /// The time in which a lease has covered a directory that the kernel may keep a listing of.
    pub fn listing_period(&self, directory: FileId) -> Option<u64> {
        let is_single = self.shared.directories.is_single(directory);
        let period = || self.client.lease_epoch(directory);
        is_single.then(period).flatten()
    }

    /// Waits until the caller is not to be kept waiting any longer.
    pub async fn caller_is_let_go(&self, waits_for_lock: bool) {
        if waits_for_lock {
            self.caller_waited_in_vain().await;
        } else {
            self.caller_is_killed().await;
        }
    }

    /// Waits until the caller has got a signal and what it waits for has had the time to end well.
    async fn caller_waited_in_vain(&self) {
        self.interruption.raised().await;
        self.client.context().sleep(CANCEL_MAX).await;
    }

    /// Waits until the caller is being killed.
    async fn caller_is_killed(&self) {
        self.interruption.raised().await;
        while !is_being_killed(self.header.pid) {
            self.client.context().sleep(KILLED_POLL).await;
        }
    }
}

/// Whether a thread has a SIGKILL pending, as every thread of a process that a signal ends, or is
/// gone. Of a thread in another pid namespace (0) nothing is known.
fn is_being_killed(thread: u32) -> bool {
    if thread == 0 {
        return false;
    }
    match fs::read_to_string(format!("/proc/{thread}/status")) {
        Ok(status) => has_kill_pending(&status),
        Err(_) => true,
    }
}

fn has_kill_pending(status: &str) -> bool {
    let masks = status.lines().filter_map(|line| {
        line.strip_prefix("SigPnd:")
            .or(line.strip_prefix("ShdPnd:"))
    });
    masks
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask & KILL_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_kill_is_seen_and_other_signals_are_not() {
        let status = |own: u64, shared: u64| {
            format!("Name:\tx\nSigPnd:\t{own:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t0100\n")
        };
        assert!(has_kill_pending(&status(0x100, 0)));
        assert!(has_kill_pending(&status(0, 0x102)));
        assert!(!has_kill_pending(&status(0x2, 0x4000)));
    }

    #[test]
    fn this_thread_is_not_being_killed_and_no_thread_is_gone() {
        assert!(!is_being_killed(std::process::id()));
        assert!(!is_being_killed(0));
        assert!(is_being_killed(u32::MAX));
    }
}
