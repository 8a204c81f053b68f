//! The records that make up a server's state: [`Key`] names one, [`Value`] holds one.

mod contact;
mod copies;
mod directory;
mod inode;
mod key;
mod lock;
mod rank;
mod restoration;
mod session;
mod transaction;
mod value;

pub use contact::{Consultation, Hint, HintState, Link, Relay, RelayedEntry};
pub use copies::{Copies, CopyHolder, Door};
pub use directory::{Entry, Header, HeaderSum};
pub use inode::{DirectoryPlace, Inode, Truncation, Truncations};
pub use key::{Key, Sort};
pub use lock::{LockKind, LockOwner, LockRange, LockSpace, LockWaiter, RangeLock};
pub use rank::Rank;
pub use restoration::Restoration;
pub use session::{
    AppendRange, Awaited, HeldReply, InboxChannel, Opener, Opens, OutboxChannel, Recall, Session,
    SessionState, StoredMessage, Waiter,
};
pub use transaction::{Participant, Target, TransactionState, TransactionStatus};
pub use value::Value;
