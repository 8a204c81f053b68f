//! Planted defects: mistakes that the checks must notice.
//!
//! The cores contain none of them. A defect sits between a core and the simulated runtime and
//! alters what passes there: the name of a server's new life in [`lives`], [`records`] of batches,
//! [`requests`] and messages of peers on arrival, [`replies`] on departure, [`view`] of the store,
//! which alters [`decisions`], [`refusals`] of requests, [`sending`] of clients, and the
//! [`settings`] of both, the [`synchronization`] of disks, and their [`damage`].

mod contacts;
mod damage;
mod decisions;
mod lives;
mod recalls;
mod records;
mod refusals;
mod replies;
mod requests;
mod sending;
mod settings;
mod synchronization;
mod view;

pub use decisions::FormerSizes;
pub use records::Cause;
pub use refusals::{LatestRequest, refused};
pub use sending::Resent;

use strum::{EnumMessage as _, EnumProperty as _, IntoEnumIterator as _};

/// A mistake. Its name is the variant's in kebab-case; its documentation is what `futago twin fuzz
/// --list-defects` shows.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::EnumIter,
    strum::EnumMessage,
    strum::EnumProperty,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Defect {
    /// A server does not keep the replies that it has sent.
    #[strum(props(kind = "server"))]
    ForgetsReplies,
    /// A server lets messages of other servers take effect twice.
    #[strum(props(kind = "server"))]
    ForgetsInbox,
    /// A server gives several files one identity.
    #[strum(props(kind = "server"))]
    DrawsIdsTwice,
    /// A bucket's header does not count new and removed entries.
    #[strum(props(kind = "server"))]
    MiscountsEntries,
    /// A server keeps the entries that it hands over when a bucket splits.
    #[strum(props(kind = "server"))]
    KeepsMovedEntries,
    /// The last entry of each part of a moving bucket gets lost.
    #[strum(props(kind = "server"))]
    LosesMovedEntries,
    /// A server does not lower the count of links when another server removes a name.
    #[strum(props(kind = "server"))]
    KeepsDroppedLinks,
    /// A removed extended attribute stays.
    #[strum(props(kind = "server"))]
    KeepsRemovedXattrs,
    /// A change of attributes does not advance the change time.
    #[strum(props(kind = "server"))]
    KeepsChangeTimes,
    /// A change of the owner leaves the group as it was.
    #[strum(props(kind = "client"))]
    ForgetsGroups,
    /// New files lose the bits above the permissions.
    #[strum(props(kind = "client"))]
    ForgetsSpecialBits,
    /// Small writes that a client has buffered are sent without their data.
    #[strum(props(kind = "client"))]
    LosesBufferedWrites,
    /// A copy within a server leaves its target unchanged.
    #[strum(props(kind = "client"))]
    SkipsCopies,
    /// A client gives a lease back at once and goes on to rely on it.
    #[strum(props(kind = "client"))]
    KeepsRecalledLeases,
    /// A client gives a lease back a little before it ceases to rely on it.
    #[strum(props(kind = "client"))]
    GivesBackEarly,
    /// A request that is sent again gets a new number.
    #[strum(props(kind = "driver"))]
    ResendsAsNew,
    /// A request that is lost is not sent again.
    #[strum(props(kind = "driver"))]
    NeverResends,
    /// A client acknowledges answers that it does not have yet.
    #[strum(props(kind = "driver"))]
    AcknowledgesEarly,
    /// A request fails as soon as a server says that it is busy.
    #[strum(props(kind = "driver"))]
    GivesUpWhenBusy,
    /// Requests that are answered go on to count as under way.
    #[strum(props(kind = "driver"))]
    NeverReadmits,
    /// Messages do not carry the clock of their sender.
    #[strum(props(kind = "clocks"))]
    ForgetsClocks,
    /// Servers measure leases and timeouts by the wall clock.
    #[strum(props(kind = "clocks"))]
    ServersMeasureByWallClock,
    /// Clients measure leases and timeouts by the wall clock.
    #[strum(props(kind = "clocks"))]
    ClientsMeasureByWallClock,
    /// A server believes a client's clock, however far ahead or behind it is.
    #[strum(props(kind = "clocks"))]
    TakesClientStamps,
    /// A client relies on its leases for an hour longer than granted.
    #[strum(props(kind = "leases"))]
    TrustsLeasesTooLong,
    /// A server does not keep who has leases.
    #[strum(props(kind = "leases"))]
    ForgetsLeases,
    /// A server does not keep who has exclusive leases.
    #[strum(props(kind = "leases"))]
    ForgetsExclusiveLeases,
    /// A server grants exclusive leases without regard to other clients.
    #[strum(props(kind = "leases"))]
    GrantsExclusiveToAll,
    /// Writes do not recall leases.
    #[strum(props(kind = "leases"))]
    WritesUnderLeases,
    /// Changes of names do not recall leases.
    #[strum(props(kind = "leases"))]
    RenamesUnderLeases,
    /// A server changes names of a directory of another home without recalling leases on it.
    #[strum(props(kind = "leases"))]
    NamesUnderPartLeases,
    /// Extended attributes are set without recalls of leases.
    #[strum(props(kind = "leases"))]
    SetsXattrsUnderLeases,
    /// A server never recalls the lease of a client that has changed the node itself.
    #[strum(props(kind = "leases"))]
    NeverRecallsChangers,
    /// A server that hears a client ends its leases as soon as another server has lost the client.
    #[strum(props(kind = "leases"))]
    EndsLeasesOfHeard,
    /// A contact server goes on to relay what it knew under a lease that it has returned.
    #[strum(props(kind = "contacts"))]
    RelaysAfterRecall,
    /// A contact server returns a lease before its clients have done so.
    #[strum(props(kind = "contacts"))]
    ReturnsBeforeClients,
    /// Clients rely on relayed leases for an hour longer than the contact server on its own.
    #[strum(props(kind = "contacts"))]
    RelaysTooLong,
    /// A client sends others what it has sent before, whether or not it is still right.
    #[strum(props(kind = "caches"))]
    SendsFormerCopies,
    /// A client takes what it was once sent for the answer to a later request.
    #[strum(props(kind = "caches"))]
    TakesFormerCopies,
    /// A client does not notice that a copy is damaged.
    #[strum(props(kind = "caches"))]
    TakesDamagedCopies,
    /// An expired session is taken for a new one.
    #[strum(props(kind = "sessions"))]
    ForgetsExpiry,
    /// A server gives clients up in half of the promised time.
    #[strum(props(kind = "sessions"))]
    ExpiresEarly,
    /// A server never gives a client up.
    #[strum(props(kind = "sessions"))]
    NeverExpires,
    /// A server does not keep who has files open.
    #[strum(props(kind = "sessions"))]
    ForgetsOpens,
    /// The open files of an expired session stay open.
    #[strum(props(kind = "sessions"))]
    KeepsOpensOfDead,
    /// A client that leaves keeps what it holds.
    #[strum(props(kind = "sessions"))]
    IgnoresLeaving,
    /// Late copies of requests that are done with run again.
    #[strum(props(kind = "sessions"))]
    ForgetsAcknowledged,
    /// A server goes on taking chunks of files that are gone.
    #[strum(props(kind = "admission"))]
    KeepsAdmissions,
    /// A server does not note which chunks it has.
    #[strum(props(kind = "admission"))]
    ForgetsChunks,
    /// Servers do not see what transactions have reserved.
    #[strum(props(kind = "transactions"))]
    ForgetsLocators,
    /// A committed transaction is forgotten before its participants have heard of it.
    #[strum(props(kind = "transactions"))]
    ForgetsDecisions,
    /// The status server hears of one participant less than there are.
    #[strum(props(kind = "transactions"))]
    ForgetsParticipants,
    /// Participants drop what was committed.
    #[strum(props(kind = "transactions"))]
    ResolvesAsAborted,
    /// The version of the tree is neither reserved nor advanced.
    #[strum(props(kind = "transactions"))]
    IgnoresTreeVersion,
    /// A moved directory keeps its old parent.
    #[strum(props(kind = "transactions"))]
    KeepsParents,
    /// A file's home does not keep its truncations.
    #[strum(props(kind = "truncation"))]
    ForgetsTruncations,
    /// A chunk server confirms truncations and does not cut.
    #[strum(props(kind = "truncation"))]
    IgnoresCuts,
    /// A chunk server confirms truncations and does not note them.
    #[strum(props(kind = "truncation"))]
    ForgetsCuts,
    /// A file's home does not know that confirmations of truncations are missing.
    #[strum(props(kind = "truncation"))]
    ForgetsPendingCuts,
    /// A read shows what a truncation has cut that its server has missed.
    #[strum(props(kind = "truncation"))]
    ReadsPastCuts,
    /// A write brings back what a truncation has cut that its server has missed.
    #[strum(props(kind = "truncation"))]
    WritesPastCuts,
    /// A writer that has not heard of the latest truncation is not refused.
    #[strum(props(kind = "truncation"))]
    AdmitsStaleWriters,
    /// A server begins a new life under the name of its last one.
    #[strum(props(kind = "lives"))]
    KeepsIncarnation,
    /// A server gives identities in a new life that it has given in the last one.
    #[strum(props(kind = "lives"))]
    RepeatsIdentities,
    /// Channels between servers do not notice that one of them has begun a new life.
    #[strum(props(kind = "lives"))]
    IgnoresNewLives,
    /// A server that goes on has lost its sessions, open files, locks and leases.
    #[strum(props(kind = "lives"))]
    ForgetsVolatile,
    /// Lost chunks read as holes.
    #[strum(props(kind = "lives"))]
    ShowsLostChunks,
    /// A server forgets that the data of a released file is elsewhere.
    #[strum(props(kind = "data"))]
    ForgetsReleases,
    /// A server takes a released file for restored as soon as anything of it changes.
    #[strum(props(kind = "data"))]
    EndsRestorationsEarly,
    /// A server does not keep locks.
    #[strum(props(kind = "locks"))]
    ForgetsLocks,
    /// Exclusive locks are taken as shared ones.
    #[strum(props(kind = "locks"))]
    SharesExclusiveLocks,
    /// A lock covers one byte less than was asked for.
    #[strum(props(kind = "locks"))]
    ShortensLocks,
    /// All owners of locks within a client are taken for one.
    #[strum(props(kind = "locks"))]
    ConfusesLockOwners,
    /// A listing loses the last entry of a part.
    #[strum(props(kind = "listings"))]
    SkipsListedEntries,
    /// A server of chunks does not count the data that it has of a file with holes.
    #[strum(props(kind = "data"))]
    CountsNoData,
    /// A listing ends after the first part of a bucket.
    #[strum(props(kind = "listings"))]
    EndsListingsEarly,
    /// A listing repeats the last entry of the part before.
    #[strum(props(kind = "listings"))]
    RepeatsListedEntries,
    /// A search loses the last entry of each part of a directory.
    #[strum(props(kind = "listings"))]
    SkipsFoundEntries,
    /// A rename over a file leaves the file the link that it loses.
    #[strum(props(kind = "decisions"))]
    ReplacesWithoutDropping,
    /// A write decides with the size that the file had before its latest change.
    #[strum(props(kind = "decisions"))]
    DecidesWithStaleSizes,
    /// An append begins where other clients are still appending.
    #[strum(props(kind = "decisions"))]
    AppendsOverAppends,
    /// A file is removed with its last name although it is open.
    #[strum(props(kind = "decisions"))]
    RemovesOpenFiles,
    /// Exclusive creation succeeds in all buckets but the first although the name exists.
    #[strum(props(kind = "decisions"))]
    IgnoresExclusiveCreation,
    /// A directory is removed although it has entries.
    #[strum(props(kind = "decisions"))]
    RemovesFullDirectories,
    /// A file that has lost its last name gets a new one.
    #[strum(props(kind = "decisions"))]
    LinksRemovedFiles,
    /// A bucket splits although a transaction has reserved names in it.
    #[strum(props(kind = "decisions"))]
    SplitsUnderTransactions,
    /// A transaction puts a name over another one that its client has not seen.
    #[strum(props(kind = "decisions"))]
    OverwritesNames,
    /// A file's home does not cut the chunks that it has itself.
    #[strum(props(kind = "decisions"))]
    KeepsOwnCuts,
    /// The buckets of a directory do not get its new permissions.
    #[strum(props(kind = "decisions"))]
    KeepsBucketAttributes,
    /// A client commits a transaction of which a server has refused a part.
    #[strum(props(kind = "client"))]
    CommitsRefused,
    /// A client reports a write of several chunks before their servers have replied.
    #[strum(props(kind = "client"))]
    ReportsWritesEarly,
    /// A client takes a transaction on one server for done that the server has refused.
    #[strum(props(kind = "client"))]
    TakesChangedForDone,
    /// A server takes on twice as many requests as it may.
    #[strum(props(kind = "driver"))]
    AdmitsTooMany,
    /// Requests that wait for other clients take all places.
    #[strum(props(kind = "driver"))]
    WaitsEverywhere,
    /// A request that the server refuses because it would wait goes on to wait.
    #[strum(props(kind = "driver"))]
    KeepsRefusedWaiting,
    /// A server sends messages to other servers before what they tell is durable.
    #[strum(props(kind = "sync"))]
    SendsUndurable,
    /// A server replies to `fsync` before the synchronization has ended.
    #[strum(props(kind = "sync"))]
    ConfirmsUndurable,
    /// A server that must confirm durable changes only replies before they are durable.
    #[strum(props(kind = "sync"))]
    RepliesUndurable,
    /// The disks claim to synchronize, and do not do it.
    #[strum(props(kind = "sync"))]
    SynchronizesNothing,
    /// A synchronization that has failed is attempted again, as if nothing were lost.
    #[strum(props(kind = "sync"))]
    RepeatsFailedSyncs,
    /// A server whose disk has failed trusts what its files show when it comes back.
    #[strum(props(kind = "sync"))]
    TrustsFailedSyncs,
    /// A server replies with zeros in place of data that is damaged.
    #[strum(props(kind = "damage"))]
    ServesDamagedData,
    /// A server decides with a map that has the partitions on other servers.
    #[strum(props(kind = "map"))]
    ServesWithStaleMap,
    /// Clients ask the servers of a map that has the partitions on other servers.
    #[strum(props(kind = "map"))]
    AsksWithStaleMap,
    /// A server that was set back by a loss of power does not end sessions.
    #[strum(props(kind = "sync"))]
    KeepsSessionsOfLost,
    /// A server that was set back by a loss of power assigns identities again.
    #[strum(props(kind = "sync"))]
    ReusesLostIdentities,
    /// A message to another server that gets lost is not sent again.
    #[strum(props(kind = "progress"))]
    NeverRepeatsMessages,
    /// A committed transaction is not forgotten when all participants have confirmed it.
    #[strum(props(kind = "progress"))]
    NeverFinishesTransactions,
    /// The leases of a client that is gone stay.
    #[strum(props(kind = "progress"))]
    KeepsLeasesOfGone,
}

impl Defect {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The part of the system that it is planted in.
    pub fn kind(self) -> &'static str {
        self.get_str("kind").unwrap_or_default()
    }

    /// The fault, as a sentence.
    pub fn description(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}
