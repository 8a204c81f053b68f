//! Names that the kernel may use without a request, and their invalidation.
//!
//! A notification makes the kernel look up each cached name of a directory again; names in use stay
//! as they are if the reply is the same. For this the kernel waits for the directory's lock. An
//! operation that changes the directory holds that lock until its reply, which may wait until
//! another mount has returned a lease, and that mount may wait for the same here. So no return of a
//! lease waits for such a lock. A thread of its own does, and meanwhile the kernel has no
//! attributes of the directory: it requests them whenever a path leads through the directory,
//! before it looks at names (`fuse_permission` in fs/fuse/dir.c), and gets the reply once the names
//! are expired.
//!
//! The thread that requests attributes may hold the lock itself, without a request under way.
//! Nothing tells which of the waiting threads it is. So while no name is expired, one of them after
//! the other gets attributes that are valid for no time, beginning with the one that has waited
//! longest: the thread that holds the lock has probably taken it before the others came. The kernel
//! could also expire all names of the mount without a lock (`FUSE_NOTIFY_INC_EPOCH`). But then a
//! directory in use has no path until it is looked up again, and what is mounted on a directory is
//! unmounted.

use crate::cache_progress::CacheProgress;
use crate::directory_nodes::Place;
use crate::interruption::locked;
use crate::kernel_locks::{Held, KernelLocks};
use crate::taking_in::{TAKE_IN_POLL, TakingIn};
use futago_base::{Name, ServerId};
use futago_fuse_kernel::Notifier;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;

/// How long names that cannot be expired keep a lease from being given back, although no request is
/// known that holds the lock.
const LOCKED_MAX: Duration = Duration::from_millis(20);
/// How long no name is expired before one of the callers that wait for it goes on, although no
/// request is known that holds the lock.
const SELF_LOCKED_MAX: Duration = Duration::from_millis(5);
/// How much later than the reply is sent the kernel may begin to count a validity.
const TAKE_IN_MAX: Duration = Duration::from_secs(1);
/// Directories are looked through for names that are not valid any more when they have grown to
/// this, and then twice as large.
const NAMES_LOOKED_THROUGH: usize = 1024;

/// The names, by the nodes of their directories.
#[derive(Debug, Default)]
pub struct KernelNames {
    directories: Mutex<HashMap<u64, Directory>>,
    notifier: OnceLock<Notifier>,
    /// Answers that tell of them.
    pub answers: TakingIn,
    /// The locks of their directories.
    locks: KernelLocks,
    progress: CacheProgress,
}

#[derive(Debug, Default)]
struct Directory {
    names: HashMap<Name, Known>,
    /// How many names there are when they are next looked through.
    looked_through: usize,
    expiry: Expiry,
    /// The numbers of the callers that wait for the expiry.
    callers: BTreeSet<u64>,
    /// The number of the last caller.
    last_caller: u64,
}

/// A name that the kernel may use.
#[derive(Clone, Copy, Debug)]
struct Known {
    until: Instant,
    /// The server of the lease that it is used under; `None` if any recall of the directory is to
    /// expire it.
    server: Option<ServerId>,
}

/// A caller that waits until the names of a directory are expired.
#[derive(Debug)]
pub struct Caller<'a> {
    names: &'a KernelNames,
    node: u64,
    number: u64,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if let Some(directory) = locked(&self.names.directories).get_mut(&self.node) {
            directory.callers.remove(&self.number);
        }
    }
}

/// Names that are being expired.
#[derive(Clone, Debug)]
struct Expiry {
    names: Arc<Mutex<HashMap<Name, Expiring>>>,
    /// How many were left when that was last seen to change.
    seen: (usize, Instant),
}

#[derive(Clone, Copy, Debug)]
struct Expiring {
    /// Until when the kernel may use it if it moves the name before.
    until: Instant,
    /// How many messages are to expire it.
    messages: u32,
}

impl Default for Expiry {
    fn default() -> Self {
        Self {
            names: Arc::default(),
            seen: (0, Instant::now()),
        }
    }
}

impl Expiry {
    fn left(&self) -> usize {
        locked(&self.names).len()
    }

    /// For how long the kernel has expired none.
    fn stands_still(&mut self) -> Duration {
        let left = self.left();
        if left != self.seen.0 {
            self.seen = (left, Instant::now());
        }
        self.seen.1.elapsed()
    }

    fn begin(&self, name: Name, until: Instant) {
        let mut names = locked(&self.names);
        let messages = names.get(&name).map_or(0, |expiring| expiring.messages) + 1;
        names.insert(name, Expiring { until, messages });
    }

    fn end(&self, name: &Name) {
        let mut names = locked(&self.names);
        if let Some(expiring) = names.get_mut(name) {
            expiring.messages -= 1;
            if expiring.messages == 0 {
                names.remove(name);
            }
        }
    }

    fn until(&self, name: &Name) -> Option<Instant> {
        let names = locked(&self.names);
        names.get(name).map(|expiring| expiring.until)
    }
}

impl Directory {
    fn tell(&mut self, name: Name, until: Instant, server: Option<ServerId>) {
        self.names.insert(name, Known { until, server });
        if self.names.len() > self.looked_through.max(NAMES_LOOKED_THROUGH) {
            let now = Instant::now();
            self.names.retain(|_, known| known.until > now);
            self.looked_through = 2 * self.names.len();
        }
    }

    /// Takes a name away that the kernel moves, which it may do before it expires the name.
    fn take(&mut self, name: &Name) -> Option<Instant> {
        let known = self.names.remove(name).map(|known| known.until);
        known.or_else(|| self.expiry.until(name))
    }

    /// The names on a server, or on all servers, which are being expired from now on.
    fn begin_expiry(&mut self, server: Option<ServerId>) -> Vec<Name> {
        let now = Instant::now();
        let is_there = |_: &Name, known: &mut Known| {
            server.is_none() || known.server.is_none() || known.server == server
        };
        let names = self.names.extract_if(is_there);
        let valid = names.filter(|(_, known)| known.until > now);
        let begin = |(name, known): (Name, Known)| {
            self.expiry.begin(name.clone(), known.until);
            name
        };
        valid.map(begin).collect()
    }
}

impl KernelNames {
    /// No names, whose expiry counts as progress.
    pub fn new(progress: CacheProgress) -> Self {
        Self {
            progress,
            ..Self::default()
        }
    }

    /// From now on the kernel may keep names.
    pub fn keep(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// A thread is about to receive a reply, by which it may use a name in a directory for some
    /// time, under the lease of a server.
    pub fn tell(&self, node: u64, name: &Name, valid: Duration, server: ServerId, thread: u32) {
        let mut directories = locked(&self.directories);
        let until = Instant::now() + valid + TAKE_IN_MAX;
        directories
            .entry(node)
            .or_default()
            .tell(name.clone(), until, Some(server));
        self.answers.tell(thread, node);
    }

    /// This kernel has had a name moved: what is there now it may use as long as it might have
    /// where it was.
    pub fn moved(&self, from: &Place, to: &Place) {
        let mut directories = locked(&self.directories);
        let moved = take(&mut directories, from);
        take(&mut directories, to);
        put(&mut directories, to, moved);
    }

    /// This kernel has had two names exchanged.
    pub fn exchanged(&self, one: &Place, other: &Place) {
        let mut directories = locked(&self.directories);
        let moved = [take(&mut directories, one), take(&mut directories, other)];
        put(&mut directories, other, moved[0]);
        put(&mut directories, one, moved[1]);
    }

    /// The kernel does not know a directory any more.
    pub fn forget(&self, node: u64) {
        locked(&self.directories).remove(&node);
    }

    /// A request begins for which the kernel holds the locks of directories. No recall waits for
    /// these any more.
    pub fn hold(&self, nodes: Vec<u64>) -> Held {
        let are_some = !nodes.is_empty();
        let held = self.locks.hold(nodes);
        if are_some {
            self.progress.made();
        }
        held
    }

    /// Has the kernel expire what it keeps of a directory's names on a server, or on all. Returns
    /// `None` when that is done, or waits for a lock: then the kernel must not keep attributes of
    /// the directory. Otherwise it is to be called again after progress, or after the returned
    /// time.
    pub fn expire(&self, node: u64, server: Option<ServerId>) -> Option<Duration> {
        let mut directories = locked(&self.directories);
        let directory = directories.get_mut(&node)?;
        if self.answers.is_awaited(node) {
            return Some(TAKE_IN_POLL);
        }
        self.begin(node, directory, server);
        let expiry = &mut directory.expiry;
        if expiry.left() == 0 || self.locks.are_held(node) {
            return None;
        }
        let left = LOCKED_MAX.saturating_sub(expiry.stands_still());
        (!left.is_zero()).then_some(left)
    }

    /// Begins to have the kernel expire names of a directory on which there is no lease.
    pub fn begin_to_expire(&self, node: u64) {
        if let Some(directory) = locked(&self.directories).get_mut(&node) {
            self.begin(node, directory, None);
        }
    }

    fn begin(&self, node: u64, directory: &mut Directory, server: Option<ServerId>) {
        let names = directory.begin_expiry(server);
        let (expiry, notifier) = (directory.expiry.clone(), self.notifier.get().cloned());
        let progress = self.progress.clone();
        let Some(notifier) = notifier.filter(|_| !names.is_empty()) else {
            return;
        };
        directory.expiry.seen = (expiry.left(), Instant::now());
        spawn_blocking(move || {
            for name in names {
                // It fails when the mount is gone, and its names with it.
                notifier.expire_entry(node, name.as_bytes()).ok();
                expiry.end(&name);
            }
            progress.made();
        });
    }

    /// Whether all names of a directory that the kernel was to expire are expired.
    pub fn are_expired(&self, node: u64) -> bool {
        let directories = locked(&self.directories);
        let directory = directories.get(&node);
        directory.is_none_or(|directory| directory.expiry.left() == 0)
    }

    /// A caller that asks for attributes of a directory begins to wait until its names are expired.
    pub fn await_expiry(&self, node: u64) -> Caller<'_> {
        let mut directories = locked(&self.directories);
        let number = directories.get_mut(&node).map_or(0, |directory| {
            directory.last_caller += 1;
            directory.callers.insert(directory.last_caller);
            directory.last_caller
        });
        Caller {
            names: self,
            node,
            number,
        }
    }

    /// Whether a caller need not wait any longer.
    pub fn may_go_on(&self, caller: &Caller<'_>) -> bool {
        let mut directories = locked(&self.directories);
        let Some(directory) = directories.get_mut(&caller.node) else {
            return true;
        };
        let expiry = &mut directory.expiry;
        if expiry.left() == 0 {
            return true;
        }
        if self.locks.are_held(caller.node) {
            expiry.seen.1 = Instant::now();
        }
        // The kernel may have forgotten the directory since, and its callers with it.
        let first = directory.callers.first();
        let is_next = first.is_none_or(|first| *first >= caller.number);
        if !is_next || expiry.stands_still() < SELF_LOCKED_MAX {
            return false;
        }
        // The next caller goes on if no name is expired now, either.
        expiry.seen.1 = Instant::now();
        true
    }
}

fn take(directories: &mut HashMap<u64, Directory>, at: &Place) -> Option<Instant> {
    directories.get_mut(&at.parent)?.take(&at.name)
}

fn put(directories: &mut HashMap<u64, Directory>, at: &Place, until: Option<Instant>) {
    if let Some(until) = until {
        let directory = directories.entry(at.parent).or_default();
        directory.tell(at.name.clone(), until, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    const NODE: u64 = 7;
    const OTHER: u64 = 8;
    const VALID: Duration = Duration::from_secs(100);
    const SERVER: ServerId = ServerId(1);

    fn name(text: &'static str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    fn names(names: &KernelNames, node: u64) -> Vec<Name> {
        let mut directories = locked(&names.directories);
        let taken = directories
            .get_mut(&node)
            .map(|directory| directory.begin_expiry(None));
        taken.unwrap_or_default()
    }

    /// As it is when a lease is called back just before the rename has its answer.
    #[test]
    fn a_name_that_is_moved_before_it_is_expired_is_expired_where_it_is() {
        let known = KernelNames::default();
        let (a, b) = (name("a"), name("b"));
        known.tell(NODE, &a, VALID, SERVER, u32::MAX);
        assert_eq!(names(&known, NODE), slice::from_ref(&a));
        known.moved(&Place::new(NODE, &a), &Place::new(OTHER, &b));
        assert_eq!(names(&known, OTHER), [b]);
    }

    #[test]
    fn a_name_takes_its_validity_along_when_it_is_moved() {
        let known = KernelNames::default();
        let (a, b) = (name("a"), name("b"));
        known.tell(NODE, &a, VALID, SERVER, u32::MAX);
        known.moved(&Place::new(NODE, &a), &Place::new(OTHER, &b));
        assert!(names(&known, NODE).is_empty());
        assert_eq!(names(&known, OTHER), [b]);
    }

    #[test]
    fn what_is_replaced_by_an_unknown_name_is_not_known_any_more() {
        let known = KernelNames::default();
        known.tell(NODE, &name("a"), VALID, SERVER, u32::MAX);
        known.moved(
            &Place::new(OTHER, &name("b")),
            &Place::new(NODE, &name("a")),
        );
        assert!(names(&known, NODE).is_empty());
    }

    #[test]
    fn exchanged_names_take_their_validities_along() {
        let known = KernelNames::default();
        let (a, b) = (name("a"), name("b"));
        known.tell(NODE, &a, VALID, SERVER, u32::MAX);
        known.exchanged(&Place::new(NODE, &a), &Place::new(OTHER, &b));
        assert!(names(&known, NODE).is_empty());
        assert_eq!(names(&known, OTHER), [b]);
    }

    #[test]
    fn a_recall_of_one_server_leaves_the_names_on_others() {
        let known = KernelNames::default();
        let (here, there, moved) = (name("here"), name("there"), name("moved"));
        known.tell(NODE, &here, VALID, SERVER, u32::MAX);
        known.tell(NODE, &there, VALID, ServerId(2), u32::MAX);
        known.tell(OTHER, &moved, VALID, ServerId(2), u32::MAX);
        known.moved(&Place::new(OTHER, &moved), &Place::new(NODE, &moved));
        let mut directories = locked(&known.directories);
        let directory = directories.get_mut(&NODE).expect("known");
        let mut expired = directory.begin_expiry(Some(SERVER));
        expired.sort();
        assert_eq!(expired, [here, moved], "and what was moved here");
        assert_eq!(directory.begin_expiry(None), [there]);
    }

    #[test]
    fn names_whose_time_is_over_are_not_expired() {
        let known = KernelNames::default();
        let mut directories = locked(&known.directories);
        let directory = directories.entry(NODE).or_default();
        directory.tell(name("a"), Instant::now(), None);
        assert!(directory.begin_expiry(None).is_empty());
    }

    /// As it is when the kernel waits for a lock to expire a name.
    fn stuck() -> KernelNames {
        let known = KernelNames::default();
        known.tell(NODE, &name("a"), VALID, SERVER, u32::MAX);
        assert_eq!(names(&known, NODE), [name("a")]);
        known
    }

    fn stand_still(known: &KernelNames) {
        let mut directories = locked(&known.directories);
        let expiry = &mut directories.get_mut(&NODE).expect("known").expiry;
        expiry.seen = (expiry.left(), Instant::now() - SELF_LOCKED_MAX);
    }

    #[test]
    fn callers_go_on_one_after_the_other_while_no_name_is_expired() {
        let known = stuck();
        let (first, second) = (known.await_expiry(NODE), known.await_expiry(NODE));
        assert!(!known.may_go_on(&first) && !known.may_go_on(&second));
        stand_still(&known);
        assert!(!known.may_go_on(&second) && known.may_go_on(&first));
        drop(first);
        assert!(!known.may_go_on(&second), "the first may hold the lock");
        stand_still(&known);
        assert!(known.may_go_on(&second));
    }

    #[test]
    fn a_caller_goes_on_whose_directory_the_kernel_has_forgotten_meanwhile() {
        let known = stuck();
        let caller = known.await_expiry(NODE);
        known.forget(NODE);
        known.tell(NODE, &name("a"), VALID, SERVER, u32::MAX);
        assert_eq!(names(&known, NODE), [name("a")]);
        stand_still(&known);
        assert!(known.may_go_on(&caller));
    }

    #[test]
    fn all_callers_go_on_once_the_names_are_expired() {
        let known = stuck();
        let callers = [known.await_expiry(NODE), known.await_expiry(NODE)];
        locked(&known.directories)[&NODE].expiry.end(&name("a"));
        assert!(callers.iter().all(|caller| known.may_go_on(caller)));
    }

    #[test]
    fn a_directory_does_not_remember_names_for_ever() {
        let mut directory = Directory::default();
        for number in 0..10 * NAMES_LOOKED_THROUGH {
            let name = Name::new(number.to_string().into_bytes()).expect("a name");
            directory.tell(name, Instant::now(), None);
        }
        assert!(directory.names.len() <= NAMES_LOOKED_THROUGH + 1);
    }
}
