//! Copies trees between a local file system and a cluster.
//!
//! A copy is cut into [tasks](Task), which any number of clients on any number of hosts perform.
//! Each file grows under a temporary name and is renamed when its data is complete and verified,
//! so that a name never leads to half a file. A repeated run continues an interrupted one.

mod backing;
mod clients;
mod copier;
mod failure;
mod metadata;
mod path;
mod stage;
mod task;
mod temporary;
mod tree;

pub use backing::{Backing, BackingPlan, Lives, Pass, Unflushed};
pub use clients::{Direction, RemoteClients, Setup, serve};
pub use copier::{Contents, Copier, Perform, Present, Rules, Unreachable, Verification};
pub use failure::{Failure, Reach, Result};
pub use metadata::{Identity, NodeMetadata, Owner};
pub use path::{TreePath, escape};
pub use stage::{Counts, Progress, Stage, Summary};
pub use task::{Answer, Done, Found, FurtherName, Item, Part, Task};
pub use tree::{ClusterTree, Links, LocalTree, Tree, TreeEntry, TreeListing, Xattr};
