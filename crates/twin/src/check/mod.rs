//! Whether what clients saw, and what is left on the servers, is right.

mod audit;
mod dirty_data;
mod findings;
mod hearing;
mod history;
mod linearize;
mod loss;
mod progress;
mod same;
mod slices;
mod snapshot;
mod times;
mod watch;

pub use audit::audit;
pub use dirty_data::without_dirty_data;
pub use findings::findings;
pub use hearing::{heard_of, missed_truncations};
pub use history::{History, Record};
pub use linearize::{Setting, Verdict, linearize};
pub use loss::{Loss, Marks, repeated};
pub use progress::unfinished;
pub use same::differences;
pub use snapshot::{UnregisteredOpen, snapshot};
pub use times::backwards;
