//! One request on its way through the adapter.

use crate::answer::Answer;
use crate::cache_progress::CacheProgress;
use crate::cached_listings::CachedListings;
use crate::cached_pages::CachedPages;
use crate::callers;
use crate::direct_changes::DirectChanges;
use crate::directory_cookies::DirectoryCookies;
use crate::directory_nodes::DirectoryNodes;
use crate::gone_directories::GoneDirectories;
use crate::interruption::{Interruption, Interruptions};
use crate::kernel_names::KernelNames;
use crate::known_nodes::KnownNodes;
use crate::open_handles::OpenHandles;
use crate::retried_walks::RetriedWalks;
use crate::taking_in::TakingIn;
use crate::translate;
use futago_base::{Attributes, Duration, Errno, FileId, Kind, Name};
use futago_client::Context;
use futago_files::Credentials;
use futago_fuse_kernel::{Entry, Forget, Header};
use futago_node::{RecordedClient, Starter};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time;

const ZERO: time::Duration = time::Duration::ZERO;

/// The kernel counts from the time at which it processes a reply. Half of the trusted time allows
/// for a late kernel.
const fn validity(trust: Duration) -> time::Duration {
    time::Duration::from_nanos(trust.0 / 2)
}

/// How often an interrupted request checks whether its caller is being killed.
const KILLED_POLL: Duration = Duration::from_millis(100);
/// How long an interrupted caller waits for the outcome of its wait for a lock.
const CANCEL_MAX: Duration = Duration::from_secs(1);

/// The state that a mount's requests share.
#[derive(Debug)]
pub struct Shared {
    /// Begins operations of the mount's client.
    pub starter: Starter,
    /// Progress of invalidations.
    pub progress: CacheProgress,
    /// Requests in progress.
    pub interruptions: Interruptions,
    /// Cookies of listings.
    pub cookies: DirectoryCookies,
    /// Directories that the kernel knows.
    pub directories: DirectoryNodes,
    /// Files whose attributes the kernel may cache.
    pub known_nodes: KnownNodes,
    /// Names that the kernel may use without a request.
    pub names: KernelNames,
    /// Files whose pages the kernel may cache.
    pub pages: CachedPages,
    /// Changes of data that bypass these pages.
    pub direct_changes: DirectChanges,
    /// Directories whose listings the kernel may cache.
    pub listings: CachedListings,
    /// Open files by number.
    pub handles: OpenHandles,
    /// Attributes of removed directories.
    pub gone_directories: GoneDirectories,
    /// Threads for which the kernel retries a path.
    pub retried_walks: RetriedWalks,
}

impl Shared {
    /// The state of a new mount.
    pub fn new(starter: Starter) -> Self {
        let progress = CacheProgress::default();
        Self {
            starter,
            progress: progress.clone(),
            interruptions: Interruptions::default(),
            cookies: DirectoryCookies::default(),
            directories: DirectoryNodes::default(),
            known_nodes: KnownNodes::default(),
            names: KernelNames::new(progress),
            pages: CachedPages::default(),
            direct_changes: DirectChanges::default(),
            listings: CachedListings::default(),
            handles: OpenHandles::default(),
            gone_directories: GoneDirectories::default(),
            retried_walks: RetriedWalks::default(),
        }
    }

    /// The kernel forgets nodes, or did not receive the reply that named them.
    pub fn forget(&self, forgotten: &[Forget]) {
        self.directories.forget(forgotten, |directory| {
            self.listings.forget(directory);
            self.cookies.forget(directory);
            self.gone_directories.forget(directory);
        });
        self.known_nodes.forget(forgotten);
        for forget in forgotten {
            if !self.knows(forget.node) {
                self.names.forget(forget.node);
            }
            if !self.known_nodes.contains(forget.node) {
                self.pages.forget(forget.node);
            }
        }
        self.progress.made();
    }

    /// Makes the kernel drop the pages of a node. Blocks while some of them are being read.
    ///
    /// # Errors
    /// The mount is gone.
    pub fn drop_pages(&self, node: u64) -> io::Result<()> {
        let dropped = self.pages.drop_pages(node);
        self.progress.made();
        dropped
    }

    /// Makes the kernel drop its cached listing. Blocks while a process reads the directory from
    /// it. Returns the number of parts that had been sent.
    ///
    /// # Errors
    /// The mount is gone.
    pub fn drop_listing(&self, directory: FileId) -> io::Result<u64> {
        let nodes = self.directories.nodes(directory);
        let dropped = self.listings.drop_pages(directory, &nodes);
        self.progress.made();
        dropped
    }

    /// Whether the kernel knows a node, or a reply that names it is under way.
    pub fn knows(&self, node: u64) -> bool {
        self.known_nodes.contains(node) || self.directories.contains(node)
    }
}

/// A request and its environment.
pub struct Call {
    /// The client that does the work.
    pub client: Arc<RecordedClient>,
    /// The state that the mount's requests share.
    pub shared: Arc<Shared>,
    /// The caller and the node.
    pub header: Header,
    /// The file that the request is about; for names, their directory.
    pub file: FileId,
    /// Whether the caller received a signal.
    pub interruption: Arc<Interruption>,
}

impl Call {
    /// The process that sent the request.
    pub const fn credentials(&self) -> Credentials {
        Credentials {
            uid: self.header.uid,
            gid: self.header.gid,
        }
    }

    /// Runs an operation on an open file, in the session that opened it.
    ///
    /// # Errors
    /// `ESTALE` if that session has expired, and those of the operation.
    pub async fn on_open_file<T>(
        &self,
        handle: u64,
        operation: Pin<&mut impl Future<Output = Result<T, Errno>>>,
    ) -> Result<T, Errno> {
        let open = self.shared.handles.get(handle)?;
        open.run(&*self.client, operation).await
    }

    /// The target of a name of the request's directory, with a node, and how long the kernel may
    /// cache it.
    pub fn entry(&self, name: &Name, of: &Attributes) -> Entry {
        let known = &self.shared.known_nodes;
        let entry = Entry {
            entry_valid: self.cache_name(name, Some(of.id)),
            attributes_valid: self.attributes_valid(of),
            ..self.node(name, of)
        };
        known.tell(entry.node, entry.attributes_valid > ZERO);
        entry
    }

    /// A node that the kernel refers to by a file handle.
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
        self.shared.known_nodes.tell(node, false);
        Entry {
            generation: nodes.generation(node),
            ..translate::entry(node, of)
        }
    }

    /// Lets the kernel cache the target of a name of the request's directory, or its absence.
    /// Returns for how long.
    pub fn cache_name(&self, name: &Name, id: Option<FileId>) -> time::Duration {
        let valid = self.name_valid(name, id);
        if valid > ZERO {
            let (node, thread) = (self.header.node, self.header.pid);
            let server = self.client.name_server(self.file, name);
            (self.shared.names).tell(node, name, valid, server, thread);
        }
        valid
    }

    fn name_valid(&self, name: &Name, id: Option<FileId>) -> time::Duration {
        let (known, directories) = (&self.shared.known_nodes, &self.shared.directories);
        let are_expired = || self.shared.names.are_expired(self.header.node);
        if TakingIn::knows(self.header.pid)
            && known.caches_names()
            && directories.is_single(self.file)
            && are_expired()
        {
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

    /// Must be called before [`Call::entry`] after a lookup. It invalidates the kernel's cache of a
    /// directory that the kernel is about to know at another location, too.
    pub async fn prepare_entry(&self, name: &Name, of: &Attributes) {
        let nodes = &self.shared.directories;
        let parent = self.header.node;
        if of.kind == Kind::Directory && nodes.is_found_elsewhere(parent, name, of.id) {
            self.client.context().forget(of.id, None).await;
        }
    }

    /// The entry as a result.
    pub fn answer_entry(&self, name: &Name, of: &Attributes) -> Answer {
        Answer::Entry(self.entry(name, of))
    }

    /// How long the kernel may cache attributes, and use pages without a request.
    pub fn attributes_valid(&self, of: &Attributes) -> time::Duration {
        let is_single = || self.shared.directories.is_single(of.id);
        if !self.shared.known_nodes.caches_attributes()
            || of.kind == Kind::Directory && !is_single()
        {
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

    /// Whether the kernel may use its cached listing.
    pub fn allow_listing(&self, directory: FileId) -> bool {
        let period = self.listing_period(directory);
        self.shared.listings.allow_attributes(directory, period)
    }

    /// The lease epoch of a directory whose listing the kernel may cache.
    pub fn listing_period(&self, directory: FileId) -> Option<u64> {
        let is_single = self.shared.directories.is_single(directory);
        let period = || self.client.lease_epoch(directory);
        is_single.then(period).flatten()
    }

    /// Waits until the caller must be released.
    pub async fn caller_is_let_go(&self, waits_for_lock: bool) {
        if waits_for_lock {
            self.caller_waited_in_vain().await;
        } else {
            self.caller_is_killed().await;
        }
    }

    /// Waits until the caller has received a signal and its wait for a lock has had time to end.
    async fn caller_waited_in_vain(&self) {
        self.interruption.raised().await;
        self.client.context().sleep(CANCEL_MAX).await;
    }

    /// Waits until the caller is being killed.
    async fn caller_is_killed(&self) {
        self.interruption.raised().await;
        while !callers::is_being_killed(self.header.pid) {
            self.client.context().sleep(KILLED_POLL).await;
        }
    }
}
